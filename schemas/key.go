package schemas

// A KeyManner is what the operator says about who is behind an API key. Empty settings have their
// defaults.
type KeyManner struct {
	// Input is "data" if the key's messages are what others wrote, by default "typed".
	Input string `json:"input,omitempty"`
	// System is "trusted" if the operator answers for the system texts that the key sends, by default
	// "client".
	System string `json:"system,omitempty"`
	// Ask is "never" if nobody is behind the key, by default "person".
	Ask string `json:"ask,omitempty"`
}

// A KeySetting is one of the settings of a [KeyManner].
type KeySetting struct {
	Name, Value string
	// Allowed are the values that it may have.
	Allowed []string
}

// Settings returns the settings that were set.
func (m KeyManner) Settings() []KeySetting {
	var set []KeySetting
	for _, s := range []KeySetting{
		{"input", m.Input, []string{"typed", "data"}},
		{"system", m.System, []string{"trusted", "client"}},
		{"ask", m.Ask, []string{"person", "never"}},
	} {
		if s.Value != "" {
			set = append(set, s)
		}
	}
	return set
}

// Lines returns the settings that were set as lines of a config file, such as "input: data".
func (m KeyManner) Lines() []string {
	var lines []string
	for _, s := range m.Settings() {
		lines = append(lines, s.Name+": "+s.Value)
	}
	return lines
}

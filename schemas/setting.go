package schemas

// A Setting is one key of the config as a person may read it: what it comes to, and where it
// was set.
type Setting struct {
	// Key is the path of the key, such as "llm.ollama.model", or the name of the
	// environment variable that alone can hold it.
	Key string `json:"key"`
	// Value is empty for a key that is not set. A secret is never in it.
	Value string `json:"value"`
	// Origin is a file and line, an environment variable or "command line"; empty for a
	// default.
	Origin string `json:"origin,omitempty"`
	// Secret tells that the key is set and its value is not shown.
	Secret bool `json:"secret,omitempty"`
}

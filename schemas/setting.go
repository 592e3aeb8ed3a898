package schemas

// A Setting is one key of the config, with its effective value and origin.
type Setting struct {
	// Key is the path of the key, such as "llm.ollama.model", or the name of the only environment
	// variable that can hold it.
	Key string `json:"key"`
	// Value is empty if the key is not set. It never contains a secret.
	Value string `json:"value"`
	// Origin is a file and line, an environment variable or "command line"; empty for a
	// default.
	Origin string `json:"origin,omitempty"`
	// Secret is set if the key is set and its value is hidden.
	Secret bool `json:"secret,omitempty"`
}

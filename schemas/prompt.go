package schemas

// A Prompt is a prepared question of an MCP server. A person uses it by name: "/name arguments".
type Prompt struct {
	// Name is the prompt's own name on its server.
	Name        string           `json:"name"`
	Server      string           `json:"server"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// A PromptArgument is one argument of a [Prompt]; its value is always text.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

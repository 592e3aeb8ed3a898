package schemas

import (
	"encoding/json"
	"time"
)

// A ToolCall is a call that a model suggests. It has exactly these fields on every
// surface of Molar; whatever else a provider attaches to a call travels beside it
// as [ProviderState].
type ToolCall struct {
	// ID is a UUID made by the host, whatever id the provider gave.
	ID       string       `json:"id"`
	Function FunctionCall `json:"function"`
}

// A FunctionCall names an offered tool and its arguments.
type FunctionCall struct {
	// Name is the offered name, "server__tool".
	Name string `json:"name"`
	// Arguments is a JSON object, escaped into a string; "{}" when there are none.
	Arguments string `json:"arguments"`
}

// A ToolResult is what executing a call gave. A tool's own fault is a result with
// IsError set, so that the model can act on it.
type ToolResult struct {
	// ToolName is the tool's own name on its server.
	ToolName string `json:"toolName"`
	// Output is the structured content, else the text parsed when it is JSON, else
	// the text as a JSON string.
	Output json.RawMessage `json:"output"`
	// ID is the id of the call; empty for code-driven calls.
	ID      string `json:"id,omitempty"`
	Server  string `json:"server,omitempty"`
	IsError bool   `json:"isError,omitempty"`
	// Links are the MCP resource links of the result.
	Links []Source `json:"links,omitempty"`
	// Resources are what the result points to on its own server.
	Resources []ResourceLink `json:"resources,omitempty"`
	// Media are the images, sounds and other files of the result, as parts of the kinds
	// PartImage and PartFile with data addresses; Output names them. They last as long as
	// their turn: a conversation keeps none.
	Media []Part `json:"media,omitempty"`
	// Duration is how long the execution took.
	Duration time.Duration `json:"-"`
}

// A ResourceLink is an MCP resource that a result points to.
type ResourceLink struct {
	URI   string `json:"uri"`
	Title string `json:"title,omitempty"`
}

// TextOutput is the output of a tool that gives a text.
func TextOutput(text string) json.RawMessage {
	data, _ := json.Marshal(text) // a string always marshals
	return data
}

// OutputText returns the output as text: the string itself when it is a JSON
// string, the JSON otherwise.
func (r ToolResult) OutputText() string {
	var s string
	if json.Unmarshal(r.Output, &s) == nil {
		return s
	}
	return string(r.Output)
}

// ToolInfo describes a discovered tool.
type ToolInfo struct {
	// Name is the name under which the tool is offered, at most 64 characters of
	// [A-Za-z0-9_-], a letter or an underscore first.
	Name string `json:"name"`
	// Server and ToolName find the tool again: the server's name in the config and
	// the tool's own name on it.
	Server      string          `json:"server"`
	ToolName    string          `json:"toolName"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is empty when the tool declares none.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  ToolAnnotations `json:"annotations,omitzero"`
}

// ToolAnnotations are hints that a server gives of its own tool. The policy auto goes by
// them where the operator said nothing.
type ToolAnnotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// A Policy says whether a tool may be called.
type Policy string

// The policies of a tool.
const (
	// PolicyAuto lets a call pass while the model has read nothing that a server returned;
	// then it asks, by what the tool may do.
	PolicyAuto Policy = "auto"
	// PolicyAllow lets every call pass.
	PolicyAllow Policy = "allow"
	// PolicyConfirm asks a person before every call.
	PolicyConfirm Policy = "confirm"
	// PolicyDeny hides the tool from the model.
	PolicyDeny Policy = "deny"
)

// ToolRules are what the operator decided about a tool.
type ToolRules struct {
	Policy     Policy
	ReadOnly   bool
	Idempotent bool
	// NoEgress says that what a reader is called with goes nowhere, so that it may carry
	// text of other servers.
	NoEgress bool
	// Mild says that the tool destroys nothing of worth, whatever it announces.
	Mild bool
	// Trusted says that what the tool returns gives no orders.
	Trusted bool
	// Timeout for one call; zero means the default of 60 s.
	Timeout time.Duration
}

// A Tool is a discovered tool together with the operator's rules for it.
type Tool struct {
	ToolInfo
	Rules ToolRules `json:"-"`
	// Withheld says why the tool must not be offered or called now, whatever its
	// rules say: it was switched off, or awaits approval. It is empty for others.
	Withheld string `json:"-"`
	// Off is set when it was switched off.
	Off bool `json:"-"`
}

// A ToolRef names a tool by its server and its own name.
type ToolRef struct{ Server, Tool string }

// ToolDecisions are what people decided about tools while a host ran.
type ToolDecisions struct {
	// Off are the tools that are switched off.
	Off map[ToolRef]bool
	// Pins stand for the definitions in use, by server and tool: the digest of each, with the
	// definition behind a space where it was read too.
	Pins map[string]map[string]string
}

package schemas

import (
	"encoding/json"
	"time"
)

// A ToolCall is a call suggested by a model. It has exactly these fields in every API of Molar; a
// provider's extra data is kept separately as [ProviderState].
type ToolCall struct {
	// ID is a UUID made by the host, whatever the provider's id.
	ID       string       `json:"id"`
	Function FunctionCall `json:"function"`
}

// A FunctionCall names an offered tool and its arguments.
type FunctionCall struct {
	// Name is the offered name, "server__tool".
	Name string `json:"name"`
	// Arguments is a JSON object as a string; "{}" if there are none.
	Arguments string `json:"arguments"`
}

// A ToolResult is the result of a call. A tool's own fault is a result with IsError set, so that
// the model can act on it.
type ToolResult struct {
	// ToolName is the tool's own name on its server.
	ToolName string `json:"toolName"`
	// Output is the structured content, else the text parsed as JSON, else the text as a JSON
	// string.
	Output json.RawMessage `json:"output"`
	// ID is the id of the call; empty for code-driven calls.
	ID      string `json:"id,omitempty"`
	Server  string `json:"server,omitempty"`
	IsError bool   `json:"isError,omitempty"`
	// Links are the MCP resource links of the result.
	Links []Source `json:"links,omitempty"`
	// Resources are links to resources on the result's own server.
	Resources []ResourceLink `json:"resources,omitempty"`
	// Media are the images, sounds and other files of the result, as parts of the kinds PartImage
	// and PartFile with data URLs; Output names them. They last only for their turn: a
	// conversation does not store them.
	Media []Part `json:"media,omitempty"`
	// Cut is set if Output is only the beginning and the end of a longer text, with a line between
	// them that says so.
	Cut *Cut `json:"cut,omitempty"`
	// Duration is how long the execution took.
	Duration time.Duration `json:"-"`
}

// TookMS returns the duration in milliseconds, rounded up.
func (r *ToolResult) TookMS() int64 { return (r.Duration + time.Millisecond - 1).Milliseconds() }

// A Cut says how much of a long text a result's output holds, in bytes. The whole text is kept
// under the result's id.
type Cut struct {
	// Head and Tail are the lengths of the beginning and the end that the output holds.
	Head int `json:"head"`
	Tail int `json:"tail"`
	// Whole is the length of the whole text.
	Whole int `json:"whole"`
}

// A KeptResult is the whole text of a result of which a model was shown a part.
type KeptResult struct {
	Owner, ConversationID string
	// ID identifies the result in its conversation.
	ID string
	// Server is where the text came from, as in [ToolResult].
	Server string
	Text   string
	// Started is when the turn of the result began.
	Started time.Time
}

// A ResourceLink is an MCP resource that a result points to.
type ResourceLink struct {
	URI   string `json:"uri"`
	Title string `json:"title,omitempty"`
}

// TextOutput returns a text as the output of a tool.
func TextOutput(text string) json.RawMessage {
	data, _ := json.Marshal(text) // a string always marshals
	return data
}

// OutputText returns the output as text: a JSON string's value, else the JSON.
func (r ToolResult) OutputText() string {
	var s string
	if isCompound(r.Output) || json.Unmarshal(r.Output, &s) != nil {
		return string(r.Output)
	}
	return s
}

// isCompound reports whether JSON is an object or an array, if it is JSON at all.
func isCompound(raw json.RawMessage) bool { return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') }

// ToolInfo describes a discovered tool.
type ToolInfo struct {
	// Name is the offered name, at most 64 characters of [A-Za-z0-9_-], a letter or an underscore
	// first.
	Name string `json:"name"`
	// Server and ToolName identify the tool: the server's name in the config and the tool's own
	// name.
	Server      string          `json:"server"`
	ToolName    string          `json:"toolName"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is empty if the tool declares none.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  ToolAnnotations `json:"annotations,omitzero"`
}

// ToolAnnotations are a server's hints about its tool. The policy auto uses them if the operator
// set no rule.
type ToolAnnotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// A Policy governs whether a tool may be called.
type Policy string

// The policies of a tool.
const (
	// PolicyAuto asks where text of others may have ordered the call, or would go somewhere else.
	PolicyAuto Policy = "auto"
	// PolicyAllow allows every call.
	PolicyAllow Policy = "allow"
	// PolicyConfirm asks a person before every call.
	PolicyConfirm Policy = "confirm"
	// PolicyDeny hides the tool from the model.
	PolicyDeny Policy = "deny"
)

// ToolRules are the operator's rules for a tool.
type ToolRules struct {
	Policy Policy
	// Approvers are the groups whose members decide about its calls, instead of the person who asks;
	// empty leaves it to that person. Such a call always asks.
	Approvers  []string
	ReadOnly   bool
	Idempotent bool
	// Adds means that a call changes nothing that exists: it runs whatever was read.
	Adds bool
	// Content names the arguments that are free text; nil leaves that to the schema.
	Content []string
	// Writes means that a person says that it may have an effect, whatever its name or its annotations
	// say.
	Writes bool
	// Mild means that the tool destroys nothing of value, whatever it declares.
	Mild bool
	// Poll means that the tool is called again to see whether something has changed: repeated calls
	// are executed.
	Poll bool
	// Always means that the tool is offered first, whatever its size and the question.
	Always bool
	// Marks are those of the tool's server.
	Marks ServerMarks
	// Timeout for one call; zero means the default of 60 s.
	Timeout time.Duration
}

// A Tool is a discovered tool with the operator's rules for it.
type Tool struct {
	ToolInfo
	Rules ToolRules `json:"-"`
	// Withheld is why the tool must not be offered or called now, whatever its rules: it is
	// switched off, or pending approval. Otherwise it is empty.
	Withheld string `json:"-"`
	// Personal is set if each person calls the tool as themselves, so that a turn without a person cannot.
	Personal bool `json:"-"`
	// Off is set if it is switched off.
	Off bool `json:"-"`
}

// A ToolRef identifies a tool by its server and its own name.
type ToolRef struct{ Server, Tool string }

// ToolDecisions are people's decisions about tools.
type ToolDecisions struct {
	// Off are the tools that are switched off.
	Off map[ToolRef]bool
	// Pins identify the definitions in use, by server and tool: the digest of each, followed by a
	// space and the definition if that was read too.
	Pins map[string]map[string]string
	// Confirmed are the confirmations by server.
	Confirmed map[string]Confirmation
}

// Instructions is the name under which a server's instructions are pinned, withheld and approved,
// beside its tools. No tool may have it.
const Instructions = "(instructions)"

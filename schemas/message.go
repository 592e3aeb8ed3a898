package schemas

import (
	"encoding/json"
	"strings"
)

// A Role says who speaks in a [Message].
type Role string

// The roles of the canonical history. OpenAI's "developer" is RoleSystem here.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Message is one entry of the canonical history that every provider lowers to
// its own wire. A message of RoleAssistant may hold text and calls together; the
// results of its calls follow in one message of RoleTool, in call order, and the
// two are never separated.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// A PartKind says which field of a [Part] is set.
type PartKind string

// The kinds of part.
const (
	// PartText is what the speaker said.
	PartText PartKind = "text"
	// PartContext is text that code put beside the speaker's words: the summary,
	// earlier lines, fenced search results, format rules. Adapters send its text;
	// readers who want only the person's words skip it.
	PartContext PartKind = "context"
	// PartCall is a tool call that the model suggested.
	PartCall PartKind = "call"
	// PartResult is what executing a call gave.
	PartResult PartKind = "result"
	// PartImage is an image as a data URL or an http(s) address.
	PartImage PartKind = "image"
	// PartFile is a file that is neither text nor an image (PDF, audio), as a base64 data
	// URL. A provider refuses what its wire cannot carry.
	PartFile PartKind = "file"
)

// A Part is a piece of a [Message].
type Part struct {
	Kind PartKind `json:"kind"`
	// Text is set for PartText and PartContext; on a PartImage and a PartFile it is the
	// address. On a PartResult it is read instead of the result's output, where it is not empty.
	Text string `json:"text,omitempty"`
	// Name is a file's name; on a PartContext it says that the text is that of a file which a client
	// sent beside the message.
	Name string `json:"name,omitempty"`
	// Call is set for PartCall.
	Call *ToolCall `json:"call,omitempty"`
	// Result is set for PartResult, and for a PartContext that quotes a result of
	// a code-driven tool.
	Result *ToolResult `json:"result,omitempty"`
	// State is the provider's private state for exactly this part (a Gemini
	// thought signature, say). It is sent back unchanged to the provider that made
	// it and shown to nobody else.
	State *ProviderState `json:"state,omitempty"`
}

// IsFile reports whether a part is a file beside a message, of whatever kind.
func (p Part) IsFile() bool {
	return p.Kind == PartImage || p.Kind == PartFile || p.Kind == PartContext && p.Name != ""
}

// ProviderState is data that belongs to one provider and means nothing to others.
type ProviderState struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

// Text returns a message of the given role with one text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// Said joins the PartText parts: the speaker's own words, without what code put
// beside them.
func (m Message) Said() string {
	return m.join("\n", func(p Part) bool { return p.Kind == PartText })
}

// FullText joins all parts that carry text for the model, in order, with blank
// lines between them: what an adapter sends as the content of a message.
func (m Message) FullText() string {
	return m.join("\n\n", func(p Part) bool { return p.Kind == PartText || p.Kind == PartContext })
}

// join puts texts together. The text parts of an answer are pieces of one text, kept
// apart only for the provider state that each carries.
func (m Message) join(separator string, wanted func(Part) bool) string {
	if m.Role == RoleAssistant {
		separator = ""
	}
	var texts []string
	for _, p := range m.Parts {
		if p.Text != "" && wanted(p) {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, separator)
}

// Calls returns the tool calls of the message, in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == PartCall && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Usage counts tokens of one or more model calls. The counts are the provider's.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	// CachedTokens are those of PromptTokens that the provider had in its cache.
	CachedTokens int `json:"cached_tokens,omitempty"`
	// ReasoningTokens are those of CompletionTokens that the model thought with.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		TotalTokens:      u.TotalTokens + v.TotalTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
	}
}

// A Source is a page that a tool result named. URL is http or https.
type Source struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

package schemas

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Role is the author of a [Message].
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

// A PartKind determines which field of a [Part] is set.
type PartKind string

// The kinds of part.
const (
	// PartText is the author's text.
	PartText PartKind = "text"
	// PartContext is text that code added to the author's: the summary, earlier lines, fenced
	// search results, format rules. Adapters send its text; readers of the person's own words
	// skip it.
	PartContext PartKind = "context"
	// PartCall is a tool call that the model suggested.
	PartCall PartKind = "call"
	// PartResult is the result of a call.
	PartResult PartKind = "result"
	// PartImage is an image as a data URL or an http(s) address.
	PartImage PartKind = "image"
	// PartFile is a file that is neither text nor an image (PDF, audio), as a base64 data URL. A
	// provider rejects files that its wire does not support.
	PartFile PartKind = "file"
)

// A Part is a piece of a [Message].
type Part struct {
	Kind PartKind `json:"kind"`
	// Text is set for PartText and PartContext; on a PartImage and a PartFile it is the URL. On a
	// PartResult it replaces the result's output if not empty.
	Text string `json:"text,omitempty"`
	// Name is a file's name; on a PartContext it means that the text is a file that a client sent
	// with the message.
	Name string `json:"name,omitempty"`
	// Origin is where the text of a person's part comes from, if they did not type it.
	Origin Origin `json:"origin,omitempty"`
	// Tokens is how many tokens a picture takes at the turn's provider; 0 if that is not known.
	Tokens int `json:"-"`
	// Call is set for PartCall.
	Call *ToolCall `json:"call,omitempty"`
	// Result is set for PartResult, and for a PartContext that quotes a result of
	// a code-driven tool.
	Result *ToolResult `json:"result,omitempty"`
	// State is the provider's private state for exactly this part (such as a Gemini thought
	// signature). It is sent back unchanged to the provider that made it and to no other reader.
	State *ProviderState `json:"state,omitempty"`
}

// IsFile reports whether a part is a file of any kind.
func (p Part) IsFile() bool {
	return p.Kind == PartImage || p.Kind == PartFile || p.Kind == PartContext && p.Name != ""
}

// ProviderState is data that only one provider understands.
type ProviderState struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

// Text returns a message of the given role with one text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// Said joins the PartText parts: the author's own words, without the context that code added.
func (m Message) Said() string {
	return m.join("\n", func(p Part) bool { return p.Kind == PartText })
}

// FullText joins all parts with text for the model, in order, with blank lines between them: the
// content that an adapter sends.
func (m Message) FullText() string {
	return m.join("\n\n", func(p Part) bool { return p.Kind == PartText || p.Kind == PartContext })
}

// join joins texts. An answer's text parts are pieces of one text, split only for their provider
// state; and so are text parts of different origins, which one person put together.
func (m Message) join(separator string, wanted func(Part) bool) string {
	if len(m.Parts) == 1 && wanted(m.Parts[0]) { // most messages have one part
		return m.Parts[0].Text
	}
	var all strings.Builder
	var before Part
	for _, p := range m.Parts {
		if p.Text == "" || !wanted(p) {
			continue
		}
		if all.Len() > 0 && m.Role != RoleAssistant && (before.Kind != PartText || p.Kind != PartText || before.Origin == p.Origin) {
			all.WriteString(separator)
		}
		all.WriteString(p.Text)
		before = p
	}
	return all.String()
}

// OneText returns the message with its text parts of different origins as one text, which models are
// sent. A message without such parts is returned as it is.
func (m Message) OneText() Message {
	if !slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind == PartText && p.Origin != "" }) {
		return m
	}
	parts := []Part{{Kind: PartText, Text: m.Said()}}
	for _, p := range m.Parts {
		if p.Kind != PartText {
			parts = append(parts, p)
		}
	}
	m.Parts = parts
	return m
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

// Usage counts the tokens of model calls, as the provider reports them.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	// CachedTokens are the PromptTokens from the provider's cache.
	CachedTokens int `json:"cached_tokens,omitempty"`
	// ReasoningTokens are the CompletionTokens spent on thinking.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Cost is what the calls cost whose price is known; zero if none is.
	Cost Cost `json:"cost,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		TotalTokens:      u.TotalTokens + v.TotalTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
		Cost:             u.Cost + v.Cost,
	}
}

// A Source is a page named by a tool result. URL is http or https.
type Source struct {
	Title string `json:"title"`
	URL   string `json:"url"`
	// Place is where a passage of a folder of knowledge stands, which may have no address of its own.
	Place *Place `json:"place,omitempty"`
}

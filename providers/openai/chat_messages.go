package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"molar/providers/wire"
	"molar/schemas"
)

// message is a wire message. Content is a string, a list of [contentPart], or nil, which encodes
// as null.
type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	reasoning
}

type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Thinking holds the parts of a part of thinking.
	Thinking []contentPart `json:"thinking,omitempty"`
	ImageURL *imageURL     `json:"image_url,omitempty"`
	File     *file         `json:"file,omitempty"`
	Audio    *audio        `json:"input_audio,omitempty"`
}

type file struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

type audio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function wireFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// chatMediaForms is how many other forms the files of results have: their messages are text only, so
// they follow in one of the person, and a model may not take them there either.
const chatMediaForms = 1

// A chatForm writes the messages of Chat Completions.
type chatForm struct {
	out []message
	// role and text are the last message while it is text only and may grow.
	role string
	text strings.Builder
}

// say adds a text-only message. It merges into a last message of the same role: the templates of
// some models require alternating roles.
func (f *chatForm) say(role, text string) {
	if text == "" {
		return
	}
	if f.role != role {
		f.settle()
		f.role = role
	} else {
		f.text.WriteString("\n\n")
	}
	f.text.WriteString(text)
}

// settle completes the text-only message.
func (f *chatForm) settle() {
	if f.role != "" {
		f.out = append(f.out, message{Role: f.role, Content: f.text.String()})
		f.role = ""
		f.text.Reset()
	}
}

// add adds a message that is not text only.
func (f *chatForm) add(m message) {
	f.settle()
	f.out = append(f.out, m)
}

func (f *chatForm) end() bool {
	f.settle()
	return len(f.out) > 0
}

// show adds a user message in parts.
func (f *chatForm) show(list []schemas.Part) error {
	var parts []contentPart
	for _, p := range list {
		if !isMedia(p) {
			parts = append(parts, contentPart{Type: "text", Text: p.Text})
			continue
		}
		m, err := mediaOf(p)
		switch {
		case err != nil:
			return err
		case m.image != "":
			parts = append(parts, contentPart{Type: "image_url", ImageURL: &imageURL{m.image}})
		case m.sound != "":
			parts = append(parts, contentPart{Type: "input_audio", Audio: &audio{m.data, m.sound}})
		default:
			parts = append(parts, contentPart{Type: "file", File: &file{m.name, m.data}})
		}
	}
	f.add(message{Role: "user", Content: parts})
	return nil
}

// assistant adds text and calls as one message. Reasoning is sent back within its turn only.
func (f *chatForm) assistant(h *history, m schemas.Message) {
	text := h.content(m)
	var calls []toolCall
	var thought reasoning
	thinking := "" // that was a part of the content
	for _, p := range m.Parts {
		if p.Kind != schemas.PartCall || p.Call == nil {
			continue
		}
		saved := wire.Recall[state](h.endpoint, p)
		if h.inTurn && thought.isEmpty() {
			thought = saved.reasoning
		}
		if h.inTurn {
			thinking = cmp.Or(thinking, saved.Thinking)
		}
		id := h.opened(saved.ID, p.Call.ID)
		calls = append(calls, toolCall{ID: id, Type: "function", Function: wireFunction{wire.FunctionName(p.Call.Function.Name), h.arguments(p.Call.Function)}, Extra: saved.Extra})
	}
	if len(calls) == 0 {
		f.say("assistant", text)
		return
	}
	w := message{Role: "assistant", ToolCalls: calls, reasoning: thought}
	switch {
	case thinking != "":
		parts := []contentPart{{Type: "thinking", Thinking: []contentPart{{Type: "text", Text: thinking}}}}
		if text != "" {
			parts = append(parts, contentPart{Type: "text", Text: text})
		}
		w.Content = parts
	case text != "":
		w.Content = text
	}
	f.add(w)
}

func (f *chatForm) result(callID, text string, _ []schemas.Part) {
	f.add(message{Role: "tool", Content: text, ToolCallID: callID})
}

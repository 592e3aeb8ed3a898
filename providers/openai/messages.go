package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
	"molar/schemas/lower"
)

// message is a message of the wire. Content is a string, a list of
// [contentPart], or nil, which goes out as null.
type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type contentPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
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

// notRun stands for the result of a call that has none: the service refuses a
// history in which a call is not answered.
const notRun = "This call was not carried out."

// history gathers the messages of the wire.
type history struct {
	wrapped map[string]bool
	// local says that the server may read the marks of its model in any text.
	local bool
	out   []message
	ids   map[string]bool // the wire ids in use
	open  []answerable    // calls that wait for their results
}

// An answerable is a call and its id on the wire.
type answerable struct{ ours, wire string }

// messages brings the canonical history to the wire.
func (p *Provider) messages(req providers.Request, wrapped map[string]bool) ([]message, error) {
	h := history{wrapped: wrapped, local: !p.original, ids: map[string]bool{}}
	h.say("system", req.System)
	for i, m := range req.Messages {
		if err := h.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	h.answerRest()
	if len(h.out) == 0 {
		return nil, errors.New("the request holds no text")
	}
	return h.out, nil
}

func (h *history) message(m schemas.Message) error {
	if m.Role == schemas.RoleTool {
		h.results(m)
		return nil
	}
	h.answerRest()
	switch m.Role {
	case schemas.RoleSystem, "developer":
		h.say("system", h.content(m))
	case schemas.RoleUser:
		return h.user(m)
	case schemas.RoleAssistant:
		h.assistant(m)
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	return nil
}

// say adds a message that is text alone. It goes into the last message when that
// is of the same kind: the templates of some models want the roles to alternate.
func (h *history) say(role, text string) {
	if text == "" {
		return
	}
	if n := len(h.out); n > 0 {
		last := &h.out[n-1]
		if before, plain := last.Content.(string); plain && last.Role == role && len(last.ToolCalls) == 0 {
			last.Content = before + "\n\n" + text
			return
		}
	}
	h.out = append(h.out, message{Role: role, Content: text})
}

// user adds a message of the user, in parts when it holds images.
func (h *history) user(m schemas.Message) error {
	isImage := func(p schemas.Part) bool { return p.Kind == schemas.PartImage }
	if !slices.ContainsFunc(m.Parts, isImage) {
		h.say("user", h.content(m))
		return nil
	}
	var parts []contentPart
	for _, p := range m.Parts {
		switch {
		case p.Kind == schemas.PartImage && !isAddress(p.Text):
			return errors.New("an image must be a data URL or an http(s) address")
		case p.Kind == schemas.PartImage:
			parts = append(parts, contentPart{Type: "image_url", ImageURL: &imageURL{p.Text}})
		case h.text(p) != "":
			parts = append(parts, contentPart{Type: "text", Text: h.text(p)})
		}
	}
	h.out = append(h.out, message{Role: "user", Content: parts})
	return nil
}

func isAddress(s string) bool {
	return strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// assistant adds text and calls as one message.
func (h *history) assistant(m schemas.Message) {
	text := h.content(m)
	var calls []toolCall
	for _, p := range m.Parts {
		if p.Kind != schemas.PartCall || p.Call == nil {
			continue
		}
		kept := recall(p)
		args := p.Call.Function.Arguments
		if h.wrapped[p.Call.Function.Name] {
			args = lower.Wrap(args)
		}
		// Local servers parse them to render the prompt.
		if !json.Valid([]byte(args)) {
			args = "{}"
		}
		id := h.id(kept.ID, p.Call.ID)
		h.open = append(h.open, answerable{p.Call.ID, id})
		calls = append(calls, toolCall{ID: id, Type: "function", Function: wireFunction{functionName(p.Call.Function.Name), args}, Extra: kept.Extra})
	}
	if len(calls) == 0 {
		h.say("assistant", text)
		return
	}
	wire := message{Role: "assistant", ToolCalls: calls}
	if text != "" {
		wire.Content = text
	}
	h.out = append(h.out, wire)
}

// functionName makes a name that the service takes of one that a model made up.
func functionName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "_"
	}
	return s[:min(len(s), 64)]
}

// id chooses the id of a call on the wire: the server's own, unless it gave that
// one twice, else ours.
func (h *history) id(theirs, ours string) string {
	id := theirs
	if id == "" || h.ids[id] {
		id = ours
	}
	for n := 2; h.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", ours, n)
	}
	h.ids[id] = true
	return id
}

// results adds one message for each result, in the order of the calls. A result
// that answers no call is quoted to the model as a user's text.
func (h *history) results(m schemas.Message) {
	texts := map[string]string{}
	var strays []string
	for _, p := range m.Parts {
		if p.Kind != schemas.PartResult || p.Result == nil {
			continue
		}
		text := p.Text
		if text == "" {
			text = p.Result.OutputText()
		}
		text = h.harmless(text)
		waits := func(c answerable) bool { return c.ours == p.Result.ID }
		if _, twice := texts[p.Result.ID]; twice || !slices.ContainsFunc(h.open, waits) {
			strays = append(strays, text)
			continue
		}
		texts[p.Result.ID] = text
	}
	h.open = slices.DeleteFunc(h.open, func(c answerable) bool {
		text, here := texts[c.ours]
		if here {
			h.out = append(h.out, message{Role: "tool", Content: text, ToolCallID: c.wire})
		}
		return here
	})
	if len(strays) > 0 {
		h.answerRest()
		h.say("user", strings.Join(strays, "\n\n"))
	}
}

// answerRest answers the calls that got no result.
func (h *history) answerRest() {
	for _, c := range h.open {
		h.out = append(h.out, message{Role: "tool", Content: notRun, ToolCallID: c.wire})
	}
	h.open = nil
}

// content joins the texts of a message.
func (h *history) content(m schemas.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if t := h.text(p); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

func (h *history) text(p schemas.Part) string {
	switch {
	case p.Kind == schemas.PartContext && p.Result != nil:
		return h.harmless(p.Text)
	case p.Kind == schemas.PartText, p.Kind == schemas.PartContext:
		return p.Text
	}
	return ""
}

// harmless breaks the marks by which models tell turns apart, in what tools gave:
// servers with templates of their own read them wherever they stand, so that a
// result could forge a turn. OpenAI's own service does not.
func (h *history) harmless(s string) string {
	if !h.local || !strings.ContainsAny(s, "<[") {
		return s
	}
	return strings.NewReplacer(
		"<|", "< |", "<｜", "< ｜", "[INST]", "[ INST]", "[/INST]", "[ /INST]",
		"<start_of_turn>", "< start_of_turn>", "<end_of_turn>", "< end_of_turn>",
		"<s>", "< s>", "</s>", "< /s>", "<bos>", "< bos>", "<eos>", "< eos>",
	).Replace(s)
}

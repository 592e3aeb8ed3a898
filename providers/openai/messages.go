package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/providers"
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

// notRun replaces a missing result of a call: the service rejects a history with an unanswered
// call.
const notRun = "This call was not carried out."

// history collects the wire messages.
type history struct {
	endpoint string
	set      wire.ToolSet
	// local is set if the server may interpret its model's markers in any text.
	local bool
	out   []message
	// role and text are the last message while it is text only and may grow.
	role string
	text strings.Builder
	ids  map[string]bool // the wire ids in use
	// inTurn is set after the last question: reasoning is sent back within its turn only.
	inTurn bool
	open   []openResult // calls without results so far
	// blind is set for models that take no files of results, shown if there are some, and own if
	// the person's messages hold files.
	blind, shown, own bool
}

// An openResult is a call's id and its id on the wire.
type openResult struct{ hostID, wire string }

// messages converts the canonical history to wire messages.
func (p *Provider) messages(req providers.Request, set wire.ToolSet) (*history, error) {
	h := &history{endpoint: p.name, set: set, local: !p.original, ids: map[string]bool{}, blind: p.quirks.Refused(req.Model, paramMedia) > 0}
	h.say("system", req.System)
	question := lastQuestion(req.Messages)
	for i, m := range req.Messages {
		h.inTurn = i > question
		if err := h.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	h.answerRest()
	h.settle()
	if len(h.out) == 0 {
		return nil, errors.New("the request holds no text")
	}
	return h, nil
}

// lastQuestion returns the index of the last user message.
func lastQuestion(messages []schemas.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == schemas.RoleUser {
			return i
		}
	}
	return -1
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

// say adds a text-only message. It merges into a last message of the same role: the templates of
// some models require alternating roles.
func (h *history) say(role, text string) {
	if text == "" {
		return
	}
	if h.role != role {
		h.settle()
		h.role = role
	} else {
		h.text.WriteString("\n\n")
	}
	h.text.WriteString(text)
}

// settle completes the text-only message.
func (h *history) settle() {
	if h.role != "" {
		h.out = append(h.out, message{Role: h.role, Content: h.text.String()})
		h.role = ""
		h.text.Reset()
	}
}

// add adds a message that is not text only.
func (h *history) add(m message) {
	h.settle()
	h.out = append(h.out, m)
}

// user adds a user message, in parts if it holds more than text.
func (h *history) user(m schemas.Message) error {
	isMedia := func(p schemas.Part) bool { return p.Kind == schemas.PartImage || p.Kind == schemas.PartFile }
	if !slices.ContainsFunc(m.Parts, isMedia) {
		h.say("user", h.content(m))
		return nil
	}
	h.own = true
	var parts []contentPart
	for _, p := range m.Parts {
		switch {
		case isMedia(p):
			part, err := mediaPart(p)
			if err != nil {
				return err
			}
			parts = append(parts, part)
		case h.textOf(p) != "":
			parts = append(parts, contentPart{Type: "text", Text: h.textOf(p)})
		}
	}
	h.add(message{Role: "user", Content: parts})
	return nil
}

// mediaPart returns a file in the API's form: an image, a PDF, or a sound in one of two formats.
func mediaPart(p schemas.Part) (contentPart, error) {
	if p.Kind == schemas.PartImage {
		if !isAddress(p.Text) {
			return contentPart{}, errors.New("an image must be a data URL or an http(s) address")
		}
		return contentPart{Type: "image_url", ImageURL: &imageURL{p.Text}}, nil
	}
	mime, _, err := schemas.DataOf(p.Text)
	if err != nil {
		return contentPart{}, fmt.Errorf("the file %q %w", p.Name, err)
	}
	sound := func(format string) contentPart {
		_, data, _ := strings.Cut(p.Text, ",")
		return contentPart{Type: "input_audio", Audio: &audio{data, format}}
	}
	switch mime {
	case "application/pdf":
		return contentPart{Type: "file", File: &file{cmp.Or(p.Name, "file.pdf"), p.Text}}, nil
	case "audio/wav", "audio/x-wav", "audio/wave":
		return sound("wav"), nil
	case "audio/mpeg", "audio/mp3":
		return sound("mp3"), nil
	}
	return contentPart{}, fmt.Errorf("the file %q is %s: this API takes text, images, PDF, WAV and MP3", p.Name, mime)
}

func isAddress(s string) bool {
	return strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// assistant adds text and calls as one message.
func (h *history) assistant(m schemas.Message) {
	text := h.content(m)
	var calls []toolCall
	var thought reasoning
	thinking := "" // that was a part of the content
	for _, p := range m.Parts {
		if p.Kind != schemas.PartCall || p.Call == nil {
			continue
		}
		saved := recall(h.endpoint, p)
		if h.inTurn && thought.isEmpty() {
			thought = saved.reasoning
		}
		if h.inTurn {
			thinking = cmp.Or(thinking, saved.Thinking)
		}
		args := h.set.Wrap(p.Call.Function)
		// Local servers parse them to render the prompt.
		if !json.Valid([]byte(args)) {
			args = "{}"
		}
		id := h.id(saved.ID, p.Call.ID)
		h.open = append(h.open, openResult{p.Call.ID, id})
		calls = append(calls, toolCall{ID: id, Type: "function", Function: wireFunction{wire.FunctionName(p.Call.Function.Name), args}, Extra: saved.Extra})
	}
	if len(calls) == 0 {
		h.say("assistant", text)
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
	h.add(w)
}

// id returns a call's wire id: the server's, unless it used that one twice, else the host's.
func (h *history) id(serverID, hostID string) string {
	id := serverID
	if id == "" || h.ids[id] {
		id = hostID
	}
	for n := 2; h.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", hostID, n)
	}
	h.ids[id] = true
	return id
}

// results adds one message for each result, in call order. It quotes a result without a call as
// user text.
func (h *history) results(m schemas.Message) {
	texts := map[string]string{}
	var strays []string
	var files []contentPart
	for _, p := range m.Parts {
		if p.Kind != schemas.PartResult || p.Result == nil {
			continue
		}
		text := p.Text
		if text == "" {
			text = p.Result.OutputText()
		}
		text = h.harmless(text)
		shown, unseen := h.files(p.Result)
		if unseen {
			text += "\n" + wire.Unseen
		}
		files = append(files, shown...)
		waits := func(c openResult) bool { return c.hostID == p.Result.ID }
		if _, twice := texts[p.Result.ID]; twice || !slices.ContainsFunc(h.open, waits) {
			strays = append(strays, text)
			continue
		}
		texts[p.Result.ID] = text
	}
	h.open = slices.DeleteFunc(h.open, func(c openResult) bool {
		text, here := texts[c.hostID]
		if here {
			h.add(message{Role: "tool", Content: text, ToolCallID: c.wire})
		}
		return here
	})
	if len(strays) > 0 {
		h.answerRest()
		h.say("user", strings.Join(strays, "\n\n"))
	}
	if len(files) > 0 {
		h.answerRest()
		h.add(message{Role: "user", Content: files})
	}
}

// files returns a result's files for a user message, since tool messages are text only, and
// whether some cannot be shown.
func (h *history) files(r *schemas.ToolResult) (parts []contentPart, unseen bool) {
	for _, file := range r.Media {
		part, err := mediaPart(file)
		if err != nil || h.blind || file.Kind == schemas.PartImage && !isPicture(file) {
			unseen = true
			continue
		}
		if parts == nil {
			parts = append(parts, contentPart{Type: "text", Text: "Files of the result of " + r.ToolName + ":"})
		}
		parts = append(parts, part)
		h.shown = true
	}
	return parts, unseen
}

// isPicture reports whether vision models accept an image's type.
func isPicture(p schemas.Part) bool {
	media, _, _ := schemas.DataOf(p.Text)
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media)
}

// answerRest answers the calls without results.
func (h *history) answerRest() {
	for _, c := range h.open {
		h.add(message{Role: "tool", Content: notRun, ToolCallID: c.wire})
	}
	h.open = nil
}

// content joins the texts of a message.
func (h *history) content(m schemas.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if t := h.textOf(p); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

func (h *history) textOf(p schemas.Part) string {
	switch {
	case p.Kind == schemas.PartContext && p.Result != nil:
		return h.harmless(p.Text)
	case p.Kind == schemas.PartText, p.Kind == schemas.PartContext:
		return p.Text
	}
	return ""
}

// harmless breaks template markers, except for OpenAI's own service, which does not interpret
// them.
func (h *history) harmless(s string) string {
	if !h.local {
		return s
	}
	return wire.Harmless(s)
}

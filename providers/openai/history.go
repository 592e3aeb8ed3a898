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

// notRun replaces a missing result of a call: the service rejects a history with an unanswered
// call.
const notRun = "This call was not carried out."

// A history walks through the canonical history and writes it in the form of a wire. It keeps each
// result beside its call, and the wire's ids apart.
type history struct {
	form
	endpoint string
	model    string
	set      wire.ToolSet
	// local is set if the server may interpret its model's markers in any text.
	local bool
	ids   map[string]bool // the wire ids in use
	// inTurn is set after the last question.
	inTurn bool
	open   []openResult // calls without results so far
	// moved is set if files of results come in a message of their own. blind is set for models that take
	// no files of results, shown if there are some, and own if the person's messages hold files.
	moved, blind, shown, own bool
}

// A form writes the messages of one wire.
type form interface {
	// say writes a text of a role other than the assistant's.
	say(role, text string)
	// show writes a message of the person with files.
	show(parts []schemas.Part) error
	// assistant writes a message of the model.
	assistant(h *history, m schemas.Message)
	// result writes the result of a call, with its files if they need not be moved.
	result(callID, text string, files []schemas.Part)
	// end completes the input and reports whether it holds something.
	end() bool
}

// An openResult is a call's id and its id on the wire.
type openResult struct{ hostID, wire string }

// lowerHistory writes the messages of a request in a form. mediaForms is how many other forms the
// wire has for the files of results, the last of which is to leave them out.
func (p *Provider) lowerHistory(s *sending, req providers.Request, f form, mediaForms int) (*history, error) {
	refused := s.lessons.Refused(req.Model, wire.ParamMedia)
	h := &history{
		form: f, endpoint: p.name, model: req.Model, set: s.set, local: !p.original, ids: map[string]bool{},
		blind: refused >= mediaForms, moved: mediaForms == chatMediaForms || refused > 0,
	}
	h.say("system", req.System)
	question := lastQuestion(req.Messages)
	for i, m := range req.Messages {
		h.inTurn = i > question
		if err := h.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	h.answerRest()
	if !h.end() {
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
		return h.results(m)
	}
	h.answerRest()
	switch m.Role {
	case schemas.RoleSystem, "developer":
		h.say("system", h.content(m))
	case schemas.RoleUser:
		return h.user(m)
	case schemas.RoleAssistant:
		h.assistant(h, m)
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	return nil
}

// user adds a user message, in parts if it holds more than text.
func (h *history) user(m schemas.Message) error {
	if !slices.ContainsFunc(m.Parts, isMedia) {
		h.say("user", h.content(m))
		return nil
	}
	h.own = true
	var parts []schemas.Part
	for _, p := range m.Parts {
		switch {
		case isMedia(p):
			parts = append(parts, p)
		case h.textOf(p) != "":
			parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: h.textOf(p)})
		}
	}
	return h.show(parts)
}

// opened adds a call that waits for its result, and returns its id on the wire: the server's, unless
// it used that one twice, else the host's.
func (h *history) opened(serverID, hostID string) string {
	id := serverID
	if id == "" || h.ids[id] {
		id = hostID
	}
	for n := 2; h.ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", hostID, n)
	}
	h.ids[id] = true
	h.open = append(h.open, openResult{hostID, id})
	return id
}

// arguments returns the arguments of an earlier call. Local servers parse them to render the
// prompt.
func (h *history) arguments(f schemas.FunctionCall) string {
	args := h.set.Wrap(f)
	if !json.Valid([]byte(args)) {
		return "{}"
	}
	return args
}

// A given is a result as the model sees it.
type given struct {
	text  string
	files []schemas.Part
}

// results adds the results in call order. It quotes a result without a call as user text, and then
// shows the files that have no place beside their result.
func (h *history) results(m schemas.Message) error {
	waiting := map[string]given{}
	var strays []string
	var files []schemas.Part
	for _, p := range m.Parts {
		if p.Kind != schemas.PartResult || p.Result == nil {
			continue
		}
		g := h.given(p)
		_, twice := waiting[p.Result.ID]
		stray := twice || !slices.ContainsFunc(h.open, func(c openResult) bool { return c.hostID == p.Result.ID })
		if (h.moved || stray) && len(g.files) > 0 {
			head := schemas.Part{Kind: schemas.PartText, Text: "Files of the result of " + p.Result.ToolName + ":"}
			files, g.files = slices.Concat(files, []schemas.Part{head}, g.files), nil
		}
		if stray {
			strays = append(strays, g.text)
			continue
		}
		waiting[p.Result.ID] = g
	}
	h.open = slices.DeleteFunc(h.open, func(c openResult) bool {
		g, here := waiting[c.hostID]
		if here {
			h.result(c.wire, g.text, g.files)
		}
		return here
	})
	if len(strays) > 0 {
		h.answerRest()
		h.say("user", strings.Join(strays, "\n\n"))
	}
	if len(files) > 0 {
		h.answerRest()
		return h.show(files)
	}
	return nil
}

// given returns a result as the model sees it. A mark stands for files that cannot be shown.
func (h *history) given(p schemas.Part) given {
	g := given{text: h.harmless(cmp.Or(p.Text, p.Result.OutputText()))}
	unseen := false
	for _, file := range p.Result.Media {
		if h.blind || !canShow(file) {
			unseen = true
			continue
		}
		g.files = append(g.files, file)
		h.shown = true
	}
	if unseen {
		g.text += "\n" + wire.Unseen
	}
	return g
}

// answerRest answers the calls without results.
func (h *history) answerRest() {
	for _, c := range h.open {
		h.result(c.wire, notRun, nil)
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

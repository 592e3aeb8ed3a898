package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"molar/providers/wire"
	"molar/schemas"
)

// anySignature is the documented placeholder for the signature of another model's call. It is sent
// as it is written.
const anySignature = "skip_thought_signature_validator"

// history collects the contents of a request.
type history struct {
	endpoint string
	set      wire.ToolSet
	system   []string
	out      []*genai.Content
	pending  []pending // calls of the last model content, with their results
	turn     int       // index of the current turn: the last user content with text
	form     mediaForm // of the files of results
	// shown is set if there are such files, own if the person's messages hold some.
	shown, own bool
}

// pending is a call without a result so far.
type pending struct {
	id     string // the host's id
	call   *genai.FunctionCall
	result *schemas.Part
}

// contents lowers the canonical history. Each assistant message becomes one model content,
// followed by one user content with the results of all its calls, in call order.
func contents(endpoint string, messages []schemas.Message, set wire.ToolSet, signed bool, form mediaForm) (*history, error) {
	h := &history{endpoint: endpoint, set: set, form: form}
	for i, m := range messages {
		if err := h.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	h.flush()
	if len(h.out) == 0 {
		return nil, errors.New("the request holds no text")
	}
	if signed {
		h.signForeign()
	}
	return h, nil
}

func (h *history) message(m schemas.Message) error {
	switch m.Role {
	case schemas.RoleTool:
		h.results(m)
		return nil
	case schemas.RoleAssistant:
		h.flush()
		h.assistant(m)
		return nil
	case schemas.RoleSystem, "developer":
		if text := m.FullText(); text != "" {
			h.system = append(h.system, text)
		}
		return nil
	case schemas.RoleUser:
		h.flush()
		return h.user(m)
	}
	return fmt.Errorf("role %q is not known", m.Role)
}

func (h *history) user(m schemas.Message) error {
	var parts []*genai.Part
	for _, p := range m.Parts {
		switch p.Kind {
		case schemas.PartText, schemas.PartContext:
			if p.Text != "" {
				parts = append(parts, &genai.Part{Text: p.Text})
			}
		case schemas.PartImage, schemas.PartFile:
			data, err := media(p)
			if err != nil {
				return err
			}
			parts = append(parts, &genai.Part{InlineData: data})
			h.own = true
		}
	}
	if len(parts) > 0 {
		h.turn = len(h.out)
		h.out = append(h.out, &genai.Content{Role: genai.RoleUser, Parts: parts})
	}
	return nil
}

// assistant appends a model content. It merges two in a row, parts unchanged: calls must follow a
// user content directly.
func (h *history) assistant(m schemas.Message) {
	var parts []*genai.Part
	for _, p := range m.Parts {
		s := wire.Recall[state](h.endpoint, p)
		switch {
		case p.Kind == schemas.PartCall && p.Call != nil:
			call := &genai.FunctionCall{ID: s.ID, Name: wire.FunctionName(p.Call.Function.Name), Args: h.arguments(p.Call.Function).object()}
			h.pending = append(h.pending, pending{id: p.Call.ID, call: call})
			parts = append(parts, &genai.Part{FunctionCall: call, ThoughtSignature: s.Signature})
		case p.Kind == schemas.PartText, p.Kind == schemas.PartContext:
			if p.Text != "" || len(s.Signature) > 0 {
				parts = append(parts, &genai.Part{Text: p.Text, ThoughtSignature: s.Signature})
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	if n := len(h.out); n > 0 && h.out[n-1].Role == genai.RoleModel {
		h.out[n-1].Parts = append(h.out[n-1].Parts, parts...)
		return
	}
	h.out = append(h.out, &genai.Content{Role: genai.RoleModel, Parts: parts})
}

// results matches results to the pending calls. It sends a result without a call as text: the
// service rejects it as a response.
func (h *history) results(m schemas.Message) {
	for _, p := range m.Parts {
		if p.Kind != schemas.PartResult || p.Result == nil {
			continue
		}
		if i := h.waiting(p.Result.ID); i >= 0 {
			h.pending[i].result = &p
			continue
		}
		h.flush()
		text := fmt.Sprintf("Result of the tool %q:\n%s", p.Result.ToolName, resultText(p))
		h.out = append(h.out, genai.NewContentFromText(text, genai.RoleUser))
	}
}

func (h *history) waiting(id string) int {
	for i, p := range h.pending {
		if p.id == id && p.result == nil {
			return i
		}
	}
	return -1
}

// flush writes the responses to the calls of the last model content. The service counts them, so
// a missing result is replaced by a note.
func (h *history) flush() {
	if len(h.pending) == 0 {
		return
	}
	parts := make([]*genai.Part, len(h.pending))
	var behind []*genai.Part
	for i, p := range h.pending {
		r := &genai.FunctionResponse{ID: p.call.ID, Name: p.call.Name}
		answer := map[string]any{"error": "this call has no result"}
		if p.result != nil {
			answer = response(*p.result)
			behind = append(behind, h.show(r, answer, p.result.Result.Media)...)
		}
		r.Response = written(answer).object()
		parts[i] = &genai.Part{FunctionResponse: r}
	}
	h.out = append(h.out, &genai.Content{Role: genai.RoleUser, Parts: append(parts, behind...)})
	h.pending = nil
}

// written returns an object as JSON; its values must be strings or valid JSON.
func written(object map[string]any) verbatim {
	data, err := json.Marshal(object)
	if err != nil {
		return verbatim(`{}`)
	}
	return data
}

// response returns a result as the object that the wire requires.
func response(p schemas.Part) map[string]any {
	key := "output"
	if p.Result.IsError {
		key = "error"
	}
	if p.Text == "" && len(p.Result.Output) > 0 && json.Valid(p.Result.Output) && string(p.Result.Output) != "null" {
		return map[string]any{key: p.Result.Output}
	}
	return map[string]any{key: resultText(p)}
}

func resultText(p schemas.Part) string {
	if p.Text != "" {
		return p.Text
	}
	return p.Result.OutputText()
}

// signForeign gives another model's calls in the current turn the placeholder signature: the
// service requires one on the first call of each step.
func (h *history) signForeign() {
	for _, c := range h.out[min(h.turn, len(h.out)):] {
		for _, p := range c.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if len(p.ThoughtSignature) == 0 {
				p.ThoughtSignature = []byte(anySignature)
			}
			break
		}
	}
}

// arguments returns the object that the wire requires, digits unchanged. Anything but an object
// becomes an empty one.
func (h *history) arguments(f schemas.FunctionCall) verbatim {
	args := bytes.TrimSpace([]byte(h.set.Wrap(f)))
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return verbatim(`{}`)
	}
	return args
}

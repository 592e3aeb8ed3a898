package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"molar/providers/wire"
	"molar/schemas"
)

// anySignature is the documented stand-in for the signature of a call that
// another model made. It goes over the wire as it is.
const anySignature = "skip_thought_signature_validator"

// history gathers wire contents.
type history struct {
	set     wire.ToolSet
	system  []string
	out     []content
	pending []pending // calls of the last model content and what became of them
	turn    int       // where the current turn begins: the last user content with text
	form    mediaForm // of the files of results
	// shown tells that there are such, own that the person's messages hold some.
	shown, own bool
}

// pending is a call that waits for its result.
type pending struct {
	id     string // ours
	call   *functionCall
	result *schemas.Part
}

// contents lowers the canonical history. Each assistant message becomes one model
// content, and the results of its calls one user content right after it, in call
// order and complete.
func contents(messages []schemas.Message, set wire.ToolSet, signed bool, form mediaForm) (*history, error) {
	h := &history{set: set, form: form}
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
	var parts []part
	for _, p := range m.Parts {
		switch p.Kind {
		case schemas.PartText, schemas.PartContext:
			if p.Text != "" {
				parts = append(parts, part{Text: &p.Text})
			}
		case schemas.PartImage, schemas.PartFile:
			data, err := media(p)
			if err != nil {
				return err
			}
			parts = append(parts, part{InlineData: data})
			h.own = true
		}
	}
	if len(parts) > 0 {
		h.turn = len(h.out)
		h.out = append(h.out, content{"user", parts})
	}
	return nil
}

// assistant appends a model content. Two in a row become one, parts untouched:
// calls must follow a user content directly.
func (h *history) assistant(m schemas.Message) {
	var parts []part
	for _, p := range m.Parts {
		s := stateOf(p)
		switch {
		case p.Kind == schemas.PartCall && p.Call != nil:
			call := &functionCall{ID: s.ID, Name: wire.FunctionName(p.Call.Function.Name), Args: h.arguments(p.Call.Function)}
			h.pending = append(h.pending, pending{id: p.Call.ID, call: call})
			parts = append(parts, part{FunctionCall: call, ThoughtSignature: s.Signature})
		case p.Kind == schemas.PartText, p.Kind == schemas.PartContext:
			if p.Text != "" || s.Signature != "" {
				parts = append(parts, part{Text: &p.Text, ThoughtSignature: s.Signature})
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	if n := len(h.out); n > 0 && h.out[n-1].Role == "model" {
		h.out[n-1].Parts = append(h.out[n-1].Parts, parts...)
		return
	}
	h.out = append(h.out, content{"model", parts})
}

// results matches results to the calls that wait for them. What belongs to no call
// is sent as text: the service refuses responses without calls.
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
		h.out = append(h.out, content{"user", []part{{Text: &text}}})
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

// flush writes the responses to the calls of the last model content. The service
// counts them, so a call without a result is answered with that.
func (h *history) flush() {
	if len(h.pending) == 0 {
		return
	}
	parts := make([]part, len(h.pending))
	var behind []part
	for i, p := range h.pending {
		answer := map[string]any{"error": "this call has no result"}
		if p.result != nil {
			answer = response(*p.result)
		}
		r := &functionResponse{ID: p.call.ID, Name: p.call.Name, Response: answer}
		parts[i] = part{FunctionResponse: r}
		if p.result != nil {
			behind = append(behind, h.show(r, p.result.Result.Media)...)
		}
	}
	h.out = append(h.out, content{"user", append(parts, behind...)})
	h.pending = nil
}

// response is the object that the wire wants of a result.
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

// signForeign gives calls of the current turn that another model made the
// stand-in signature: the service wants one on the first call of each step.
func (h *history) signForeign() {
	for _, c := range h.out[min(h.turn, len(h.out)):] {
		for i, p := range c.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if p.ThoughtSignature == "" {
				c.Parts[i].ThoughtSignature = anySignature
			}
			break
		}
	}
}

// wantsSignatures reports whether a model checks signatures: those before Gemini 3 do
// not, and may not know the stand-in.
func wantsSignatures(model string) bool {
	return !before(model, "gemini-1", "gemini-2", "gemini-pro", "gemma")
}

// arguments makes the object that the wire wants, digits untouched. What is no
// object becomes an empty one.
func (h *history) arguments(f schemas.FunctionCall) json.RawMessage {
	args := bytes.TrimSpace([]byte(h.set.Wrap(f)))
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return json.RawMessage(`{}`)
	}
	return args
}

package openai

import (
	"encoding/json"
	"strings"

	"molar/providers/wire"
	"molar/schemas"
	"molar/schemas/responses"
)

// responsesMediaForms is how many other forms the files of results have: beside their result, in a
// message of the person, and not at all.
const responsesMediaForms = 2

// A responsesForm writes the input of Responses.
type responsesForm struct {
	instructions string
	out          []json.RawMessage
	// last is the message that may grow, and text its text.
	last *responses.Item
	text strings.Builder
	// forgets leaves out earlier reasoning; thoughts is set if some is sent.
	forgets, thoughts bool
}

// say adds a text-only message. It merges into a last message of the same role: the templates of
// some models require alternating roles. The system text before all messages has its own field.
func (f *responsesForm) say(role, text string) {
	switch {
	case text == "":
	case role == "system" && len(f.out) == 0 && f.last == nil:
		f.instructions = strings.TrimPrefix(f.instructions+"\n\n"+text, "\n\n")
	case f.last != nil && f.last.Role == role:
		f.text.WriteString("\n\n" + text)
	default:
		f.begin(role, "")
		f.text.WriteString(text)
	}
}

// begin begins a message that may grow.
func (f *responsesForm) begin(role, phase string) {
	f.settle()
	f.last = &responses.Item{Type: responses.TypeMessage, Role: role, Phase: phase}
}

// settle completes the message that may grow. An empty one is left out.
func (f *responsesForm) settle() {
	m := f.last
	f.last = nil
	if m != nil && f.text.Len() > 0 {
		m.Content = encoded(f.text.String())
		f.out = append(f.out, encoded(m))
	}
	f.text.Reset()
}

// add adds an item.
func (f *responsesForm) add(it responses.Item) {
	f.settle()
	f.out = append(f.out, encoded(it))
}

func (f *responsesForm) end() bool {
	f.settle()
	return len(f.out) > 0 || f.instructions != ""
}

// show adds a user message in parts.
func (f *responsesForm) show(list []schemas.Part) error {
	parts, err := inputParts(list)
	if err != nil {
		return err
	}
	f.add(responses.Item{Type: responses.TypeMessage, Role: "user", Content: encoded(parts)})
	return nil
}

// inputParts returns texts and files as parts of an input.
func inputParts(list []schemas.Part) ([]responses.Part, error) {
	var parts []responses.Part
	for _, p := range list {
		if !isMedia(p) {
			parts = append(parts, responses.Part{Type: "input_text", Text: p.Text})
			continue
		}
		m, err := mediaOf(p)
		switch {
		case err != nil:
			return nil, err
		case m.image != "":
			parts = append(parts, responses.Part{Type: "input_image", ImageURL: m.image})
		case m.sound != "":
			parts = append(parts, responses.Part{Type: "input_audio", Audio: &responses.Audio{Data: m.data, Format: m.sound}})
		default:
			parts = append(parts, responses.Part{Type: "input_file", Filename: m.name, FileData: m.data})
		}
	}
	return parts, nil
}

// assistant adds texts and calls in their order, each after the reasoning that it came with. All of
// it is sent back, also that of earlier turns: the service ignores what its model does not use
// (https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context), and the
// input only grows at its end, as its cache wants it. Items other than reasoning have no ids here:
// nothing is stored under them, and one would tie its item to reasoning that may be missing.
func (f *responsesForm) assistant(h *history, m schemas.Message) {
	f.settle()
	for _, p := range m.Parts {
		saved := wire.Recall[state](h.endpoint, p)
		f.think(h, saved.trace)
		switch {
		case p.Kind == schemas.PartCall && p.Call != nil:
			call := p.Call.Function
			id := h.opened(saved.ID, p.Call.ID)
			f.settle()
			f.out = append(f.out, encoded(callItem{responses.TypeFunctionCall, id, wire.FunctionName(call.Name), h.arguments(call)}))
		case !saved.trace.isEmpty():
			f.begin("assistant", saved.Phase)
			f.text.WriteString(h.textOf(p))
		case h.textOf(p) != "":
			if f.last == nil || f.last.Role != "assistant" {
				f.begin("assistant", "")
			}
			f.text.WriteString(h.textOf(p)) // a piece of the same text
		}
	}
}

// think adds the reasoning before a part, if the same model is asked.
func (f *responsesForm) think(h *history, t trace) {
	if f.forgets || t.Model != h.model || len(t.Before) == 0 {
		return
	}
	f.settle()
	f.out = append(f.out, t.Before...)
	f.thoughts = true
}

// A callItem is a call in an input.
type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// result adds the output of a call: a text, or a list if there are files.
func (f *responsesForm) result(callID, text string, files []schemas.Part) {
	output := encoded(text)
	if len(files) > 0 {
		parts, err := inputParts(append([]schemas.Part{{Kind: schemas.PartText, Text: text}}, files...))
		if err == nil { // given has chosen files that the wire takes
			output = encoded(parts)
		}
	}
	f.add(responses.Item{Type: responses.TypeOutput, CallID: callID, Output: output})
}

// encoded returns a value of texts as JSON.
func encoded(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts and JSON always encode
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

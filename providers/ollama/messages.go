package ollama

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// messages converts the canonical history to Ollama's wire. set has the wrapped tools, info the
// model's capabilities.
func (p *Provider) messages(req providers.Request, set wire.ToolSet, info modelInfo) ([]api.Message, error) {
	h := history{endpoint: p.name, set: set, plain: !info.tools, vision: info.vision}
	h.add(api.Message{Role: "system", Content: req.System})
	for i, m := range req.Messages {
		if err := h.message(m); err != nil {
			return nil, p.faults.Fail(providers.KindInvalid, req.Model, fmt.Errorf("message %d: %w", i+1, err))
		}
	}
	if len(h.out) == 0 {
		// The server would only load the model and not answer.
		return nil, p.faults.Fail(providers.KindInvalid, req.Model, errors.New("the request holds no text"))
	}
	return h.out, nil
}

// history collects wire messages.
type history struct {
	endpoint string
	set      wire.ToolSet
	plain    bool // calls and results are written as text
	// vision is set for models that accept the images of results.
	vision bool
	out    []api.Message
	calls  []schemas.ToolCall // of the last assistant message
}

func (h *history) message(m schemas.Message) error {
	switch m.Role {
	case schemas.RoleTool:
		h.results(m)
		return nil
	case schemas.RoleAssistant:
		h.assistant(m)
		return nil
	case schemas.RoleSystem, "developer":
		h.add(api.Message{Role: "system", Content: content(m)})
		return nil
	case schemas.RoleUser:
		images, err := images(m)
		h.add(api.Message{Role: "user", Content: content(m), Images: images})
		return err
	}
	return fmt.Errorf("role %q is not known", m.Role)
}

// add skips empty messages.
func (h *history) add(m api.Message) {
	if m.Content != "" || len(m.Images) > 0 {
		h.out = append(h.out, m)
	}
}

// assistant combines text and calls into one message. It merges two in a row: templates join them
// by their text and would lose the calls.
func (h *history) assistant(msg schemas.Message) {
	h.calls = msg.Calls()
	m := api.Message{Role: "assistant", Content: content(msg), Thinking: thinking(h.endpoint, msg)}
	if h.plain && len(h.calls) > 0 {
		m.Content = strings.TrimSpace(m.Content + "\n" + h.printed())
	}
	for i, call := range h.calls {
		if h.plain {
			break
		}
		m.ToolCalls = append(m.ToolCalls, api.ToolCall{ID: call.ID, Function: api.ToolCallFunction{
			Index: i, Name: call.Function.Name, Arguments: arguments(call.Function, h.set),
		}})
	}
	if m.Content == "" && len(m.ToolCalls) == 0 {
		return
	}
	if n := len(h.out); n > 0 && h.out[n-1].Role == "assistant" && len(h.out[n-1].ToolCalls) == 0 {
		last := &h.out[n-1]
		if last.Content != "" && m.Content != "" {
			last.Content += "\n\n"
		}
		last.Content += m.Content
		last.Thinking += m.Thinking
		last.ToolCalls = m.ToolCalls
		return
	}
	h.out = append(h.out, m)
}

// results writes one message for each result, in call order: some templates match them by
// position, others by name or id.
func (h *history) results(given schemas.Message) {
	var parts []schemas.Part
	for _, part := range given.Parts {
		if part.Kind == schemas.PartResult && part.Result != nil {
			parts = append(parts, part)
		}
	}
	order := func(p schemas.Part) int {
		i := slices.IndexFunc(h.calls, func(c schemas.ToolCall) bool { return c.ID == p.Result.ID })
		if i < 0 {
			return len(h.calls)
		}
		return i
	}
	slices.SortStableFunc(parts, func(a, b schemas.Part) int { return order(a) - order(b) })
	for _, part := range parts {
		m := api.Message{Role: "tool", Content: part.Text, ToolName: part.Result.ToolName, ToolCallID: part.Result.ID}
		if i := order(part); i < len(h.calls) {
			m.ToolName = h.calls[i].Function.Name
		}
		if m.Content == "" {
			m.Content = part.Result.OutputText()
		}
		m.Content = wire.Harmless(m.Content)
		h.show(&m, part.Result.Media)
		if h.plain {
			m = api.Message{Role: "user", Content: "Result of " + m.ToolName + ":\n" + m.Content, Images: m.Images}
		}
		h.out = append(h.out, m)
	}
}

// show adds the images of a result. The wire has no place for other files.
func (h *history) show(m *api.Message, files []schemas.Part) {
	unseen := false
	for _, file := range files {
		mime, image, err := schemas.DataOf(file.Text)
		if err != nil || !h.vision || !slices.Contains([]string{"image/png", "image/jpeg", "image/webp"}, mime) {
			unseen = true
			continue
		}
		m.Images = append(m.Images, image)
	}
	if unseen {
		m.Content += "\n" + wire.Unseen
	}
}

// printed writes the last calls in the form that models without tool support must answer in.
func (h *history) printed() string {
	var form callsForm
	for _, call := range h.calls {
		args := arguments(call.Function, h.set)
		form.ToolCalls = append(form.ToolCalls, callForm{functionForm{call.Function.Name, json.RawMessage(args.String())}})
	}
	text, err := json.Marshal(form)
	if err != nil {
		return ""
	}
	return string(text)
}

// content joins the texts of a message, with template markers in tool results broken.
func content(m schemas.Message) string {
	var texts []string
	for _, part := range m.Parts {
		switch {
		case part.Text == "":
		case part.Kind == schemas.PartText:
			texts = append(texts, part.Text)
		case part.Kind == schemas.PartContext && part.Result != nil:
			texts = append(texts, wire.Harmless(part.Text))
		case part.Kind == schemas.PartContext:
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// arguments returns a call's arguments as the object that the server requires, with the digits of
// numbers unchanged. Anything but an object becomes an empty one.
func arguments(f schemas.FunctionCall, set wire.ToolSet) api.ToolCallFunctionArguments {
	text := set.Wrap(f)
	args := api.NewToolCallFunctionArguments()
	dec := json.NewDecoder(strings.NewReader(text))
	if !json.Valid([]byte(text)) {
		return args
	}
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return args
	}
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return args
		}
		args.Set(key.(string), value)
	}
	return args
}

// state is stored with a call: the thinking that led to it, which models need back during the
// turn.
type state struct {
	Thinking string `json:"thinking"`
}

func thinking(endpoint string, m schemas.Message) string {
	for _, part := range m.Parts {
		if s := wire.Recall[state](endpoint, part); s.Thinking != "" {
			return s.Thinking
		}
	}
	return ""
}

// images decodes the images of a message. Of other files the wire carries only text.
func images(m schemas.Message) ([]api.ImageData, error) {
	var out []api.ImageData
	for _, part := range m.Parts {
		switch part.Kind {
		case schemas.PartFile:
			mime, _, _ := schemas.DataOf(part.Text)
			return nil, fmt.Errorf("the file %q is %s: Ollama takes text and images", part.Name, cmp.Or(mime, "no data URL"))
		case schemas.PartImage:
			_, image, err := schemas.DataOf(part.Text)
			if err != nil {
				return nil, fmt.Errorf("an image %w: Ollama does not fetch addresses", err)
			}
			out = append(out, image)
		}
	}
	return out, nil
}

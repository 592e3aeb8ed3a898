package ollama

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/schemas"
	"molar/schemas/lower"
)

// messages brings the canonical history to Ollama's wire. The set says which
// tools are offered wrapped; plain is for models whose template knows no tools.
func (p *Provider) messages(req providers.Request, set toolSet, plain bool) ([]api.Message, error) {
	h := history{set: set, plain: plain}
	h.add(api.Message{Role: "system", Content: req.System})
	for i, m := range req.Messages {
		if err := h.message(m); err != nil {
			return nil, p.fail(providers.KindInvalid, req.Model, fmt.Errorf("message %d: %w", i+1, err))
		}
	}
	if len(h.out) == 0 {
		// The server would load the model and answer nothing.
		return nil, p.fail(providers.KindInvalid, req.Model, errors.New("the request holds no text"))
	}
	return h.out, nil
}

// history gathers wire messages.
type history struct {
	set   toolSet
	plain bool // calls and results are told as text
	out   []api.Message
	calls []schemas.ToolCall // of the last assistant message
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

// add leaves out messages that say nothing.
func (h *history) add(m api.Message) {
	if m.Content != "" || len(m.Images) > 0 {
		h.out = append(h.out, m)
	}
}

// assistant puts text and calls into one message. Two in a row become one too:
// templates join them by their text and would lose the calls.
func (h *history) assistant(m schemas.Message) {
	h.calls = m.Calls()
	wire := api.Message{Role: "assistant", Content: content(m), Thinking: thinking(m)}
	if h.plain && len(h.calls) > 0 {
		wire.Content = strings.TrimSpace(wire.Content + "\n" + h.printed())
	}
	for i, call := range h.calls {
		if h.plain {
			break
		}
		wire.ToolCalls = append(wire.ToolCalls, api.ToolCall{ID: call.ID, Function: api.ToolCallFunction{
			Index: i, Name: call.Function.Name, Arguments: arguments(call.Function, h.set),
		}})
	}
	if wire.Content == "" && len(wire.ToolCalls) == 0 {
		return
	}
	if n := len(h.out); n > 0 && h.out[n-1].Role == "assistant" && len(h.out[n-1].ToolCalls) == 0 {
		last := &h.out[n-1]
		if last.Content != "" && wire.Content != "" {
			last.Content += "\n\n"
		}
		last.Content += wire.Content
		last.Thinking += wire.Thinking
		last.ToolCalls = wire.ToolCalls
		return
	}
	h.out = append(h.out, wire)
}

// results writes one message for each result, in the order of the calls: some
// templates match them by position, others by name or id.
func (h *history) results(m schemas.Message) {
	var parts []schemas.Part
	for _, part := range m.Parts {
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
		wire := api.Message{Role: "tool", Content: part.Text, ToolName: part.Result.ToolName, ToolCallID: part.Result.ID}
		if i := order(part); i < len(h.calls) {
			wire.ToolName = h.calls[i].Function.Name
		}
		if wire.Content == "" {
			wire.Content = part.Result.OutputText()
		}
		wire.Content = harmless(wire.Content)
		if h.plain {
			wire = api.Message{Role: "user", Content: "Result of " + wire.ToolName + ":\n" + wire.Content}
		}
		h.out = append(h.out, wire)
	}
}

// printed writes the last calls in the form that models without tool support are
// asked to answer in.
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

// content joins the texts of a message, with what tools gave made harmless.
func content(m schemas.Message) string {
	var texts []string
	for _, part := range m.Parts {
		switch {
		case part.Text == "":
		case part.Kind == schemas.PartText:
			texts = append(texts, part.Text)
		case part.Kind == schemas.PartContext && part.Result != nil:
			texts = append(texts, harmless(part.Text))
		case part.Kind == schemas.PartContext:
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// harmless breaks the marks by which models tell turns apart. The server reads
// them as such wherever they stand, so a tool's result could forge a turn.
func harmless(s string) string {
	if !strings.ContainsAny(s, "<[") {
		return s
	}
	return strings.NewReplacer("<|", "< |", "<｜", "< ｜", "<start_of_turn>", "< start_of_turn>", "<end_of_turn>", "< end_of_turn>",
		"[INST]", "[ INST]", "[/INST]", "[ /INST]", "<s>", "< s>", "</s>", "< /s>",
		"<bos>", "< bos>", "<eos>", "< eos>").Replace(s)
}

// arguments makes the object that the server wants of a call's arguments, with
// the digits of numbers as they are. What is no object becomes an empty one.
func arguments(f schemas.FunctionCall, set toolSet) api.ToolCallFunctionArguments {
	text := f.Arguments
	if set.wrapped(f.Name) {
		text = lower.Wrap(text)
	}
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

// argumentsText makes the canonical string of a call's arguments: the compact
// object. Gateways that send a string are understood; anything else is passed on
// for the argument check to answer.
func argumentsText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return "{}"
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		raw = []byte(text)
	}
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return string(raw)
	}
	return buf.String()
}

// state is what the provider keeps beside a call: the thinking that led to it,
// which models want back while the turn goes on.
type state struct {
	Thinking string `json:"thinking"`
}

func thinking(m schemas.Message) string {
	for _, part := range m.Parts {
		var s state
		if part.State != nil && part.State.Provider == name && json.Unmarshal(part.State.Data, &s) == nil {
			return s.Thinking
		}
	}
	return ""
}

// images decodes the images of a message.
func images(m schemas.Message) ([]api.ImageData, error) {
	var out []api.ImageData
	for _, part := range m.Parts {
		if part.Kind != schemas.PartImage {
			continue
		}
		head, data, found := strings.Cut(part.Text, ",")
		if !found || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
			return nil, errors.New("an image must be a base64 data URL: Ollama does not fetch addresses")
		}
		image, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, errors.New("the data of an image is not base64")
		}
		out = append(out, image)
	}
	return out, nil
}

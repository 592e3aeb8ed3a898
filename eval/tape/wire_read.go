package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"molar/eval/match"
	"molar/internal/sse"
)

// WireOf returns the wire that uses an address, and the model in its path; both may be "".
func WireOf(address string) (wire, model string) {
	path := address
	if u, err := url.Parse(address); err == nil {
		path = u.Path
	}
	for _, w := range wireForms() {
		if w.model == nil {
			continue
		}
		if model, ok := w.model(path); ok {
			return w.name, model
		}
	}
	return "", ""
}

// ReadAnswer parses a recorded response of a wire. It returns the answer, and the response as a stream,
// since Molar always asks for one.
func ReadAnswer(wire, body string) (WireAnswer, Stream, error) {
	list, chunks := events(body)
	if len(list) == 0 {
		return WireAnswer{}, Stream{}, errors.New("there is no event in it")
	}
	var a WireAnswer
	for i, event := range list {
		err := a.add(event)
		switch {
		case err != nil && len(list) == 1: // a whole answer
			return a, Stream{}, err
		case err != nil:
			return a, Stream{}, fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	s, w := a.Stream(wire, ""), wireOf(wire)
	switch {
	case w.lines, w.piece != nil && json.Valid([]byte(body)):
		s.Chunks = nil
		for _, e := range list {
			s.Chunks = append(s.Chunks, w.piece(e))
		}
	case !json.Valid([]byte(body)):
		s.Chunks = chunks
	}
	return a, s, nil
}

// add adds one event of a streamed answer, or a whole answer, of any wire.
func (a *WireAnswer) add(event object) error {
	if a.addResponses(event) {
		return nil
	}
	var said wireReader
	if list, _ := event["candidates"].([]any); len(list) > 0 {
		candidate, _ := list[0].(object)
		said.message("", candidate["content"])
	}
	if m, there := event["message"]; there && event["type"] == nil {
		said.message("", m)
	}
	if call, there := event["call"].(object); there { // of a provider without a wire
		said.call("", call["id"], call["function"])
	}
	said.texts(KindText, "", event["text"])
	choices, _ := event["choices"].([]any)
	for _, c := range choices {
		choice, _ := c.(object)
		delta, streamed := choice["delta"]
		switch index := choice["index"]; {
		case !streamed && len(choices) > 1:
			return errors.New("several choices have no one truth: keep one")
		case !streamed:
			said.message("", choice["message"])
		case index == nil || index == json.Number("0"):
			said.message("", delta)
		}
	}
	if kind, typed := event["type"].(string); typed {
		said.messages(kind, event)
		a.tokens(event)
	} else if usage, there := event["usage"].(object); there {
		a.Prompt, a.Completion = whole(usage["prompt_tokens"]), whole(usage["completion_tokens"])
	}
	for _, p := range said {
		a.part(p)
	}
	return nil
}

// messages adds an event of Anthropic's Messages API, or a whole answer of it.
func (r *wireReader) messages(kind string, event object) {
	switch kind {
	case "message":
		r.blocks("", event["content"])
	case "content_block_start":
		block, _ := event["content_block"].(object)
		if input, _ := block["input"].(object); len(input) == 0 && block["input"] != nil {
			block["input"] = "" // its pieces follow
		}
		r.block("", block)
	case "content_block_delta":
		delta, _ := event["delta"].(object)
		r.texts(KindText, "", delta["text"])
		if piece, there := delta["partial_json"]; there {
			r.call("", nil, object{"arguments": piece})
		}
	}
}

// tokens takes over the counts of an event of Anthropic's Messages API. Later events leave some out.
func (a *WireAnswer) tokens(event object) {
	if message, there := event["message"].(object); there {
		event = message
	}
	usage, _ := event["usage"].(object)
	if _, there := usage["input_tokens"]; there {
		a.Prompt = whole(usage["input_tokens"]) + whole(usage["cache_creation_input_tokens"]) + whole(usage["cache_read_input_tokens"])
	}
	if _, there := usage["output_tokens"]; there {
		a.Completion = whole(usage["output_tokens"])
	}
}

func whole(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64() // a malformed number counts as 0
	return int(i)
}

// part adds a text or a call. A call without a name continues the last one.
func (a *WireAnswer) part(p Part) {
	last := len(a.Calls) - 1
	switch {
	case p.Kind == KindText:
		a.Text += p.Text
	case p.Kind == KindCall && p.Name == "" && last >= 0:
		a.Calls[last].Arguments += p.Text
	case p.Kind == KindCall:
		if p.Text == "null" {
			p.Text = ""
		}
		a.Calls = append(a.Calls, Call{p.ID, p.Name, p.Text})
	}
}

// events returns the JSON objects in a body, and its events in encoded form. They are those of
// an event stream, lines, the items of a list, or the body itself.
func events(body string) (list []object, chunks [][]byte) {
	for e, err := range sse.Events(strings.NewReader(strings.TrimLeft(body, " \t\r\n")), sse.Config{Limit: len(body) + 1, Lenient: true}) {
		if err != nil {
			break
		}
		if v, err := match.Decode(e.Data); err == nil {
			if o, ok := v.(object); ok {
				list = append(list, o)
			}
		}
		chunks = append(chunks, encodeEvent(e))
	}
	return list, chunks
}

// encodeEvent encodes an event. A cut event stays cut.
func encodeEvent(e sse.Event) []byte {
	text := "data: " + strings.ReplaceAll(string(e.Data), "\n", "\ndata: ")
	if e.Name != "" {
		text = "event: " + e.Name + "\n" + text
	}
	if !e.Cut {
		text += "\n\n"
	}
	return []byte(text)
}

package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"molar/eval/match"
)

// Of says which wire an address speaks, and the model that it names; "" for none.
func Of(address string) (provider, model string) {
	path := address
	if u, err := url.Parse(address); err == nil {
		path = u.Path
	}
	if m := regexp.MustCompile(`models/([^/:]+):(?:stream)?[gG]enerateContent$`).FindStringSubmatch(path); m != nil {
		return Gemini, m[1]
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return OpenAI, ""
	case strings.HasSuffix(path, "/api/chat"):
		return Ollama, ""
	}
	return "", ""
}

// ReadAnswer reads a recorded response: what it says, and its bytes as a stream, since
// that is what Molar asks for.
func ReadAnswer(provider, body string) (WireAnswer, Stream, error) {
	list, streamed := events(body)
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
	s := a.Stream(provider, "")
	switch {
	case provider == Ollama:
		s.Chunks = nil
		for _, e := range list {
			s.Chunks = append(s.Chunks, append(encode(e), '\n'))
		}
	case provider == Gemini && !streamed:
		s.Chunks = nil
		for _, e := range list {
			s.Chunks = append(s.Chunks, event(e))
		}
	case streamed:
		s.Chunks = cutEvents(body)
	}
	return a, s, nil
}

// add takes one event of an answer, or a whole one, of any wire.
func (a *WireAnswer) add(event object) error {
	var said wireReader
	if list, _ := event["candidates"].([]any); len(list) > 0 {
		candidate, _ := list[0].(object)
		said.message("", candidate["content"])
	}
	if m, there := event["message"]; there {
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
	for _, p := range said {
		a.part(p)
	}
	if usage, there := event["usage"].(object); there {
		a.Prompt, a.Completion = whole(usage["prompt_tokens"]), whole(usage["completion_tokens"])
	}
	return nil
}

func whole(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64() // what is no number counts nothing
	return int(i)
}

// part takes what is said or called in. A call without a name goes on with the last one.
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

// events are the objects of a body: the data of server-sent events, lines, the items of
// a list, or the body itself.
func events(body string) (list []object, streamed bool) {
	add := func(v any) {
		if o, ok := v.(object); ok {
			list = append(list, o)
		}
	}
	if v, err := match.Decode([]byte(body)); err == nil {
		items, isList := v.([]any)
		if !isList {
			items = []any{v}
		}
		for _, item := range items {
			add(item)
		}
		return list, false
	}
	for line := range strings.Lines(body) {
		data := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		if v, err := match.Decode([]byte(data)); err == nil {
			add(v)
		}
	}
	return list, true
}

// cutEvents splits a stream after each event, so that it is served in pieces.
func cutEvents(body string) [][]byte {
	var chunks [][]byte
	for _, e := range strings.SplitAfter(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if e != "" {
			chunks = append(chunks, []byte(e))
		}
	}
	return chunks
}

package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"molar/eval/match"
)

// A Reading is the content of an answer.
type Reading struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Calls    []Call `json:"calls,omitempty"`
	// Finish is stop, length, tool_calls or content_filter; or, of an answer that must be asked for
	// again, the service's own word.
	Finish string `json:"finish,omitempty"`
	Usage  Usage  `json:"usage,omitzero"`
	// Sealed are texts that only the service understands and that belong to a round of calls, such as
	// encrypted reasoning. The next request has to bring them back.
	Sealed []string `json:"sealed,omitempty"`
	// Error is the error that the service reports inside the answer.
	Error string `json:"error,omitempty"`

	// parsed is set if a service sent the text as JSON, so that its blanks and order say nothing.
	parsed bool
	// aside is set while all text is commentary that no call followed.
	aside bool
}

// A Call is a call of a tool. Args is JSON with sorted keys.
type Call struct {
	Name      string `json:"name"`
	Args      string `json:"args"`
	ID        string `json:"id,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Usage counts tokens. Cached is part of Prompt, and Reasoning of Completion.
type Usage struct {
	Prompt     int `json:"prompt,omitempty"`
	Completion int `json:"completion,omitempty"`
	Cached     int `json:"cached,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// object is any JSON object.
type object = map[string]any

// events returns the JSON objects of a body: of an event stream, of lines, of a list, or the body
// itself.
func events(body string) ([]object, error) {
	body = strings.TrimSpace(strings.TrimPrefix(body, "\ufeff"))
	if v, err := decode(body); err == nil {
		switch v := v.(type) {
		case object:
			return []object{v}, nil
		case []any:
			return objects(v)
		}
		return nil, errors.New("it is neither an object nor a list")
	}
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	var all []object
	var open string // the data of an event over several lines
	for line := range strings.Lines(body + "\n") {
		line = strings.TrimSuffix(line, "\n")
		data, isData := strings.CutPrefix(line, "data:")
		data = strings.TrimSpace(data)
		switch {
		case isData:
		case strings.HasPrefix(line, "error:"): // of llama-box
			data = strings.TrimSpace(strings.TrimPrefix(line, "error:"))
		case strings.HasPrefix(strings.TrimSpace(line), "{"):
			data = strings.TrimSpace(line)
		case line == "" && open != "":
			return nil, fmt.Errorf("event %d is no JSON", len(all)+1)
		default:
			continue // a comment, a name, the end of an event
		}
		if data == "[DONE]" || data == "" {
			continue
		}
		if open != "" {
			data = open + "\n" + data
		}
		v, err := decode(data)
		if err != nil {
			open = data
			continue
		}
		open = ""
		o, ok := v.(object)
		if !ok {
			return nil, fmt.Errorf("event %d is no object", len(all)+1)
		}
		all = append(all, o)
	}
	switch {
	case open != "":
		return nil, fmt.Errorf("event %d is cut off", len(all)+1)
	case len(all) == 0:
		return nil, errors.New("there is no event in it")
	}
	return all, nil
}

func objects(list []any) ([]object, error) {
	var all []object
	for _, item := range list {
		o, ok := item.(object)
		if !ok {
			return nil, errors.New("the list holds something else than objects")
		}
		all = append(all, o)
	}
	return all, nil
}

// decode decodes JSON; numbers keep their digits.
func decode(text string) (any, error) { return match.Decode([]byte(text)) }

func list(v any) []any { l, _ := v.([]any); return l }

func dict(v any) object { o, _ := v.(object); return o }

func asText(v any) string { s, _ := v.(string); return s }

// contentText returns a text, or the texts in a list of parts.
func contentText(v any) string {
	var b strings.Builder
	b.WriteString(asText(v))
	for _, p := range list(v) {
		b.WriteString(asText(dict(p)["text"]))
	}
	return b.String()
}

func number(v any) int {
	n, _ := v.(json.Number)
	f, _ := n.Float64() // a malformed number is 0; Python's libraries record 12.0 too
	return int(f)
}

// encoded returns a value as JSON with sorted keys; nothing is an empty object.
func encoded(v any) string {
	if v == nil {
		return "{}"
	}
	return match.Canonical(v)
}

// arguments returns arguments that came as text.
func arguments(s string) string {
	if v, err := decode(s); err == nil {
		return encoded(v)
	}
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	return s
}

// failure returns the message of an error in an event, or "".
func failure(event object) string {
	switch e := event["error"].(type) {
	case string:
		return e
	case object:
		if message := asText(e["message"]); message != "" {
			return message
		}
		return encoded(e)
	}
	return ""
}

// settle ends a reading: calls decide why an answer ended, and an answer that was cut or filtered
// has none.
func (r *Reading) settle() {
	switch r.Finish {
	case "length", "content_filter":
		r.Calls = nil
	case "stop", "":
		if len(r.Calls) > 0 {
			r.Finish = "tool_calls"
		}
	case "tool_calls":
		if len(r.Calls) == 0 {
			r.Finish = "stop"
		}
	}
}

// think takes reasoning in tags out of the beginning of a text, as the templates of many open models
// print it.
func (r *Reading) think() {
	for _, tag := range []string{"think", "thinking"} {
		inner, isTagged := strings.CutPrefix(strings.TrimLeft(r.Text, " \n"), "<"+tag+">")
		if !isTagged {
			continue
		}
		thought, rest, _ := strings.Cut(inner, "</"+tag+">") // an answer that was cut may lack the end
		r.Thinking += thought
		r.Text = strings.TrimLeft(rest, " \n")
	}
}

package traffic

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"molar/eval/cassettes"
)

// recorded returns the exchanges of a file: a recording that molar imports, or one of a format that is
// read only here.
func recorded(name string, data []byte) ([]cassettes.Exchange, error) {
	all, unknown := cassettes.Read("", name, data)
	if !errors.Is(unknown, cassettes.ErrUnknown) {
		return all, unknown
	}
	body, err := cassettes.Unzip(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var first object
	_ = json.NewDecoder(strings.NewReader(strings.TrimLeft(body, "[ \t\r\n"))).Decode(&first) // another value leaves it nil
	exchanges := exchangesOf(first)
	switch {
	case exchanges == nil && isAnswer(name, body, first):
		return []cassettes.Exchange{{Response: asEvents(body)}}, nil
	case exchanges == nil:
		return nil, unknown
	}
	for v, err := range cassettes.Values([]byte(body)) {
		var r row
		if err == nil {
			err = json.Unmarshal(v.Raw, &r)
		}
		var more []cassettes.Exchange
		if err == nil {
			more, err = exchanges(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, v.Line, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// A row is a value of a file, with the fields of all formats.
type row struct {
	Method, Scope, Path     string
	Status                  int
	Headers                 any
	Request, Body, Response json.RawMessage
	Stream                  []json.RawMessage `json:"response_stream"`
	Log                     struct {
		Entries []struct{ Request, Response message }
	}
}

// A message is one of an HTTP archive.
type message struct {
	Method, URL string
	PostData    struct{ Text string }
	Status      int
	Headers     []struct{ Name, Value string }
	Content     struct{ Text, Encoding string }
}

// exchangesOf returns what reads the rows of a file's format, by its first value; nil if that tells none.
func exchangesOf(first object) func(r row) ([]cassettes.Exchange, error) {
	switch {
	case has(first, "log"):
		return archive
	case has(first, "scope", "path", "response"): // of nock
		return func(r row) ([]cassettes.Exchange, error) {
			return []cassettes.Exchange{{Method: r.Method, URL: r.Scope + r.Path, Request: unquoted(r.Body), Status: r.Status, Response: unquoted(r.Response)}}, nil
		}
	case has(first, "status", "headers", "body"): // a response without its request
		return func(r row) ([]cassettes.Exchange, error) {
			return interaction(object{}, object{"status": r.Status, "headers": r.Headers, "body": unquoted(r.Body)})
		}
	case has(first, "response_stream"): // an example of Ollama's documentation
		return func(r row) ([]cassettes.Exchange, error) {
			return []cassettes.Exchange{{URL: r.Path, Request: unquoted(r.Request), Response: joined(r.Stream, "", "\n")}}, nil
		}
	}
	return nil
}

// archive reads an HTTP archive (version 1.2), as Polly.JS records it: a compressed body is a JSON list of
// its pieces in base64.
func archive(r row) (all []cassettes.Exchange, err error) {
	for i, e := range r.Log.Entries {
		headers := object{}
		for _, h := range e.Response.Headers {
			values, _ := headers[h.Name].([]any)
			headers[h.Name] = append(values, h.Value)
		}
		body := object{"string": e.Response.Content.Text}
		if e.Response.Content.Encoding == "base64" {
			var whole []byte
			pieces := []string{e.Response.Content.Text}
			_ = json.Unmarshal([]byte(pieces[0]), &pieces) // else it is one piece
			for _, piece := range pieces {
				data, err := base64.StdEncoding.DecodeString(piece)
				if err != nil {
					return nil, fmt.Errorf("entry %d: body: %w", i+1, err)
				}
				whole = append(whole, data...)
			}
			body = object{"base64_string": base64.StdEncoding.EncodeToString(whole)}
		}
		more, err := interaction(object{"method": e.Request.Method, "uri": e.Request.URL, "body": e.Request.PostData.Text},
			object{"status": e.Response.Status, "headers": headers, "body": body})
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// interaction reads a request and its response as an interaction of a cassette.
func interaction(request, response object) ([]cassettes.Exchange, error) {
	return cassettes.Read("cassette", "interaction", []byte(encoded(object{"request": request, "response": response})))
}

func has(o object, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { _, there := o[key]; return !there })
}

// isAnswer reports whether a file is one answer by itself: an event stream, its events as lines, or
// one JSON object that is neither a schema nor a setting, as its shape says.
func isAnswer(name, body string, first object) bool {
	start := strings.TrimSpace(body[:min(len(body), 200)])
	if strings.HasPrefix(start, "data:") || strings.HasPrefix(start, "event:") {
		return true
	}
	switch filepath.Ext(name) {
	case ".json", ".jsonl", ".txt", ".ndjson":
		return has(first, "choices") || has(first, "candidates") || has(first, "type", "content") || has(first, "object", "output") ||
			has(first, "message", "done") || has(first, "error") || has(first, "type") && len(lines(body)) > 1
	}
	return false
}

// asEvents returns lines as events, as an API would send them, and other answers as they are.
func asEvents(body string) string {
	all := lines(body)
	var first object
	if json.Valid([]byte(body)) || len(all) < 2 || json.Unmarshal(all[0], &first) != nil || has(first, "done") {
		return body
	}
	return joined(all, "data: ", "\n\n")
}

// lines returns the lines that are not blank.
func lines(body string) (all []json.RawMessage) {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, json.RawMessage(line))
		}
	}
	return all
}

func joined(events []json.RawMessage, before, after string) string {
	var b strings.Builder
	for _, event := range events {
		b.WriteString(before + string(event) + after)
	}
	return b.String()
}

// unquoted returns the text of a JSON string, or other JSON unchanged.
func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

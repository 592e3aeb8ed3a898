package cassettes

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A row is an entry of a list, with the fields of all formats that are lists of objects.
type row struct {
	Source, Method, URL, Scope, Path string
	Status                           int
	Headers                          any
	Request, Body, Response          json.RawMessage
	Stream                           []json.RawMessage `json:"response_stream"`
}

// rows returns the reader of a format whose rows are exchanges.
func rows(exchange func(r row) Exchange) func(name string, data []byte) ([]Exchange, error) {
	return func(name string, data []byte) ([]Exchange, error) {
		return each(name, data, func(r row) ([]Exchange, error) { return []Exchange{exchange(r)}, nil })
	}
}

// pair is the exchange of a request and response pair.
func pair(r row) Exchange {
	return Exchange{Source: r.Source, Method: r.Method, URL: r.URL, Request: plain(r.Request), Status: r.Status, Response: plain(r.Response)}
}

// nock is the exchange of an entry of nock.
func nock(r row) Exchange {
	return Exchange{Method: r.Method, URL: r.Scope + r.Path, Request: plain(r.Body), Status: r.Status, Response: plain(r.Response)}
}

// geminiCLI is the exchange of a fake response of Gemini CLI: a method of the SDK and the answer or, of
// a stream, the list of its events.
func geminiCLI(r row) Exchange {
	var events []json.RawMessage
	if json.Unmarshal(r.Response, &events) != nil {
		return Exchange{URL: ":" + r.Method, Response: string(r.Response)}
	}
	return Exchange{URL: ":" + r.Method, Response: stream(events, "data: ", "\r\n\r\n")}
}

// response is the exchange of a response without its request.
func response(r row) Exchange {
	return Exchange{Status: r.Status, Header: header(r.Headers), Response: plain(r.Body)}
}

// ollama is the exchange of an example of Ollama's documentation: a path and the events of an answer.
func ollama(r row) Exchange {
	return Exchange{URL: r.Path, Request: plain(r.Request), Response: stream(r.Stream, "", "\n")}
}

// readHAR reads an HTTP archive (version 1.2), as Polly.JS records it.
func readHAR(name string, data []byte) ([]Exchange, error) {
	type message struct {
		Method   string                          `json:"method"`
		URL      string                          `json:"url"`
		PostData struct{ Text string }           `json:"postData"`
		Status   int                             `json:"status"`
		Headers  []struct{ Name, Value string }  `json:"headers"`
		Content  struct{ Text, Encoding string } `json:"content"`
	}
	return each(name, data, func(archive struct {
		Log struct {
			Entries []struct{ Request, Response message } `json:"entries"`
		} `json:"log"`
	},
	) ([]Exchange, error) {
		var all []Exchange
		for i, e := range archive.Log.Entries {
			header := http.Header{}
			for _, h := range e.Response.Headers {
				header.Add(h.Name, h.Value)
			}
			answer, err := decoded(e.Response.Content.Text, e.Response.Content.Encoding)
			if err != nil {
				return nil, fmt.Errorf("entry %d: %w", i+1, err)
			}
			all = append(all, Exchange{Method: e.Request.Method, URL: e.Request.URL, Request: e.Request.PostData.Text, Status: e.Response.Status, Header: header, Response: answer})
		}
		return all, nil
	})
}

// decoded returns a body of an archive. Polly.JS keeps a compressed one as a JSON list of its pieces
// in base64.
func decoded(body, encoding string) (string, error) {
	if encoding != "base64" {
		return body, nil
	}
	pieces := []string{body}
	if strings.HasPrefix(body, "[") {
		pieces = nil
		if err := json.Unmarshal([]byte(body), &pieces); err != nil {
			return "", fmt.Errorf("pieces of the body: %w", err)
		}
	}
	var whole []byte
	for _, piece := range pieces {
		data, err := base64.StdEncoding.DecodeString(piece)
		if err != nil {
			return "", fmt.Errorf("body: %w", err)
		}
		whole = append(whole, data...)
	}
	return gunzip(string(whole))
}

func stream(events []json.RawMessage, before, after string) string {
	var b strings.Builder
	for _, event := range events {
		b.WriteString(before + string(event) + after)
	}
	return b.String()
}

// each reads the JSON values of a file.
func each[T any](name string, data []byte, read func(T) ([]Exchange, error)) ([]Exchange, error) {
	var all []Exchange
	for v, err := range Values(data) {
		var row T
		if err == nil {
			err = json.Unmarshal(v.Raw, &row)
		}
		var more []Exchange
		if err == nil {
			more, err = read(row)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, v.Line, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// plain returns the text of a JSON string, or other JSON unchanged.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

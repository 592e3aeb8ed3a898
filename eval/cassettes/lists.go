package cassettes

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A row is an entry of a list, with the fields of all formats that are lists of objects.
type row struct {
	Source, Method, URL string
	Status              int
	Request, Response   json.RawMessage
}

// rows returns the reader of a format whose rows are exchanges.
func rows(exchange func(r row) Exchange) func(name string, data []byte) ([]Exchange, error) {
	return func(name string, data []byte) ([]Exchange, error) {
		var all []Exchange
		for v, err := range Values(data) {
			var r row
			if err == nil {
				err = json.Unmarshal(v.Raw, &r)
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, v.Line, err)
			}
			all = append(all, exchange(r))
		}
		return all, nil
	}
}

// pair is the exchange of a request and response pair.
func pair(r row) Exchange {
	return Exchange{Source: r.Source, Method: r.Method, URL: r.URL, Request: plain(r.Request), Status: r.Status, Response: plain(r.Response)}
}

// geminiCLI is the exchange of a fake response of Gemini CLI: a method of the SDK and the answer or, of
// a stream, the list of its events.
func geminiCLI(r row) Exchange {
	var events []json.RawMessage
	if json.Unmarshal(r.Response, &events) != nil {
		return Exchange{URL: ":" + r.Method, Response: string(r.Response)}
	}
	var b strings.Builder
	for _, event := range events {
		b.WriteString("data: " + string(event) + "\r\n\r\n")
	}
	return Exchange{URL: ":" + r.Method, Response: b.String()}
}

// plain returns the text of a JSON string, or other JSON unchanged.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

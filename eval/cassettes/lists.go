package cassettes

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// readPairs reads request and response pairs: consecutive JSON objects with source, method, url,
// status, request and response.
func readPairs(name string, data []byte) ([]Exchange, error) {
	return each(name, data, func(row struct {
		Source   string          `json:"source"`
		Method   string          `json:"method"`
		URL      string          `json:"url"`
		Status   int             `json:"status"`
		Request  json.RawMessage `json:"request"`
		Response json.RawMessage `json:"response"`
	},
	) ([]Exchange, error) {
		return []Exchange{{Source: row.Source, Method: row.Method, URL: row.URL, Request: plain(row.Request), Status: row.Status, Response: plain(row.Response)}}, nil
	})
}

// readNock reads a recording of nock, a list of requests with their responses.
func readNock(name string, data []byte) ([]Exchange, error) {
	return each(name, data, func(row struct {
		Scope    string          `json:"scope"`
		Method   string          `json:"method"`
		Path     string          `json:"path"`
		Body     json.RawMessage `json:"body"`
		Status   int             `json:"status"`
		Response json.RawMessage `json:"response"`
	},
	) ([]Exchange, error) {
		return []Exchange{{Method: row.Method, URL: row.Scope + row.Path, Request: plain(row.Body), Status: row.Status, Response: plain(row.Response)}}, nil
	})
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

// readGeminiCLI reads the fake responses of Gemini CLI: lines with a method of the SDK and the answer
// or, of a stream, the list of its events.
func readGeminiCLI(name string, data []byte) ([]Exchange, error) {
	return each(name, data, func(row struct {
		Method   string          `json:"method"`
		Response json.RawMessage `json:"response"`
	},
	) ([]Exchange, error) {
		var events []json.RawMessage
		if json.Unmarshal(row.Response, &events) != nil {
			return []Exchange{{URL: ":" + row.Method, Response: string(row.Response)}}, nil
		}
		return []Exchange{{URL: ":" + row.Method, Response: stream(events, "data: ", "\r\n\r\n")}}, nil
	})
}

// readResponse reads responses without their requests.
func readResponse(name string, data []byte) ([]Exchange, error) {
	return each(name, data, func(row struct {
		Status  int             `json:"status"`
		Headers object          `json:"headers"`
		Body    json.RawMessage `json:"body"`
	},
	) ([]Exchange, error) {
		return []Exchange{{Status: row.Status, Header: header(row.Headers), Response: plain(row.Body)}}, nil
	})
}

// readOllama reads the examples of Ollama's documentation: lines with a path and the events of an answer.
func readOllama(name string, data []byte) ([]Exchange, error) {
	return each(name, data, func(row struct {
		Path    string            `json:"path"`
		Request json.RawMessage   `json:"request"`
		Stream  []json.RawMessage `json:"response_stream"`
	},
	) ([]Exchange, error) {
		return []Exchange{{URL: row.Path, Request: plain(row.Request), Response: stream(row.Stream, "", "\n")}}, nil
	})
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

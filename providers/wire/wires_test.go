package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"molar/providers"
	"molar/providers/gemini"
	"molar/providers/ollama"
	"molar/providers/openai"
)

// An adapter speaks to a service, whose form of answers is beside it.
type adapter struct {
	name string
	open func(*http.Client) (providers.Provider, error)
	// piece is one event with a piece of text, thought one with reasoning; end follows the
	// last, and cut where the model ran into its limit.
	piece, thought func(text string) string
	end, cut       string
}

func quoted(s string) string { data, _ := json.Marshal(s); return string(data) }

// wires are the adapters that speak to a service.
func wires() []adapter {
	return []adapter{
		{
			"gemini",
			func(c *http.Client) (providers.Provider, error) {
				return gemini.New(gemini.Config{APIKey: "k", HTTPClient: c})
			},
			func(s string) string {
				return `data: {"candidates":[{"content":{"role":"model","parts":[{"text":` + quoted(s) + `}]}}]}` + "\n\n"
			},
			func(s string) string {
				return `data: {"candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":` + quoted(s) + `}]}}]}` + "\n\n"
			},
			`data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n",
			`data: {"candidates":[{"finishReason":"MAX_TOKENS"}]}` + "\n\n",
		},
		{
			"openai",
			func(c *http.Client) (providers.Provider, error) { return openai.New(openai.Config{HTTPClient: c}) },
			func(s string) string { return `data: {"choices":[{"delta":{"content":` + quoted(s) + `}}]}` + "\n\n" },
			func(s string) string {
				return `data: {"choices":[{"delta":{"reasoning_content":` + quoted(s) + `}}]}` + "\n\n"
			},
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
			`data: {"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n",
		},
		{
			"ollama",
			func(c *http.Client) (providers.Provider, error) {
				return ollama.New(ollama.Config{BaseURL: "http://127.0.0.1:11434", HTTPClient: c})
			},
			func(s string) string {
				return `{"message":{"role":"assistant","content":` + quoted(s) + `},"done":false}` + "\n"
			},
			func(s string) string {
				return `{"message":{"role":"assistant","content":"","thinking":` + quoted(s) + `},"done":false}` + "\n"
			},
			`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n",
			`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"length"}` + "\n",
		},
	}
}

// A service answers every call with the same body; it keeps the last request that was one.
type service struct {
	body   func() io.Reader
	sent   []byte
	header http.Header
}

func whole(body string) func() io.Reader { return func() io.Reader { return strings.NewReader(body) } }

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	var body io.Reader
	switch {
	case strings.HasSuffix(req.URL.Path, "/api/show"):
		body = strings.NewReader(`{"template":"{{ .Tools }}","capabilities":["completion","tools","thinking","vision"],"model_info":{"general.architecture":"q","q.context_length":32768}}`)
	case strings.HasPrefix(req.URL.Path, "/api/") && !strings.HasSuffix(req.URL.Path, "/api/chat"):
		body = strings.NewReader(`{"models":[{"name":"m","model":"m"}]}`)
	default:
		s.sent, _ = io.ReadAll(req.Body)
		s.header = req.Header
		body = s.body()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: req}, nil
}

// says is an answer in pieces of n bytes.
func (w adapter) says(text string, n int) string {
	var b strings.Builder
	for ; text != ""; text = text[min(n, len(text)):] {
		b.WriteString(w.piece(text[:min(n, len(text))]))
	}
	return b.String() + w.end
}

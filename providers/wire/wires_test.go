package wire_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/anthropic"
	"molar/providers/gemini"
	"molar/providers/ollama"
	"molar/providers/openai"
)

// An adapter describes a provider's wire and the form of its service's answers.
type adapter struct {
	name string
	// of is the service, if the wire is not named after it.
	of string
	at func(place) (providers.Provider, error)
	// key and address are the names of these settings in errors.
	key, address string
	// piece is an event with a piece of text, thought one with reasoning, call one with a call;
	// end follows the last one, and cut replaces it if the model reached its limit.
	piece, thought func(text string) string
	call           func(name, arguments string) string
	end, cut       string
	// because returns the end of an empty answer with an unknown reason.
	because func(reason string) string
	// refusal is the body of a failed request, broken an error inside a stream.
	refusal, broken func(status int, message string) string
	// idle keeps a stream alive without content.
	idle string
}

// A place describes where an adapter finds its service; without a host it is the default.
type place struct {
	host   string // with its port, and with https:// before it if it speaks TLS
	client *http.Client
	first  time.Duration // the wait for the first output
	log    *slog.Logger
}

// The secrets of a place, all of which adapters know from their settings.
const (
	secretKey = "sk-secret-1234"
	password  = "hunter2"
	signature = "hunter2hunter2"
)

// base returns the address of a place, with an optional user and path.
func (p place) base(user, path string) string {
	if p.host == "" {
		return ""
	}
	scheme, host := "http://", p.host
	if after, secure := strings.CutPrefix(host, "https://"); secure {
		scheme, host = "https://", after
	}
	return scheme + user + host + path
}

// on returns the provider of a wire with the given transport.
func (w adapter) on(t testing.TB, transport http.RoundTripper) providers.Provider {
	t.Helper()
	p, err := w.at(place{client: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w adapter) over(t testing.TB, body func() io.Reader) providers.Provider {
	t.Helper()
	return w.on(t, &service{body: body})
}

// named replaces the placeholders in a text by the names of the wire's settings.
func (w adapter) named(text string) string {
	return strings.NewReplacer("{key}", w.key, "{address}", w.address).Replace(text)
}

// says returns an answer in pieces of n bytes.
func (w adapter) says(text string, n int) string {
	var b strings.Builder
	for ; text != ""; text = text[min(n, len(text)):] {
		b.WriteString(w.piece(text[:min(n, len(text))]))
	}
	return b.String() + w.end
}

func quoted(s string) string { data, _ := json.Marshal(s); return string(data) }

// wires returns the adapters that speak to a service.
func wires() []adapter {
	return []adapter{geminis(), openais(), overResponses(), anthropics(), ollamas()}
}

func geminis() adapter {
	event := func(data string) string { return "data: " + data + "\r\n\r\n" }
	parts := func(list string) string {
		return event(`{"candidates":[{"content":{"role":"model","parts":[` + list + `]},"index":0}]}`)
	}
	fault := func(status int, message string) string {
		names := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}
		return fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%q,"details":[]}}`, status, quoted(message), names[status])
	}
	return adapter{
		name: "gemini", key: "GEMINI_API_KEY", address: "llm.gemini.base_url",
		at: func(p place) (providers.Provider, error) {
			return gemini.New(gemini.Config{APIKey: secretKey, BaseURL: p.base("", ""), HTTPClient: p.client, FirstByte: p.first, Logger: p.log})
		},
		piece:   func(s string) string { return parts(`{"text":` + quoted(s) + `}`) },
		thought: func(s string) string { return parts(`{"thought":true,"text":` + quoted(s) + `}`) },
		call: func(name, arguments string) string {
			return parts(`{"functionCall":{"name":` + quoted(name) + `,"args":` + arguments + `},"thoughtSignature":"c2ln"}`)
		},
		end:     event(`{"candidates":[{"finishReason":"STOP","index":0}]}`),
		cut:     event(`{"candidates":[{"finishReason":"MAX_TOKENS","index":0}]}`),
		because: func(reason string) string { return event(`{"candidates":[{"finishReason":` + quoted(reason) + `}]}`) },
		refusal: fault,
		broken:  func(status int, message string) string { return event(fault(status, message)) },
		idle:    ": ping\r\n\r\n",
	}
}

func openais() adapter {
	event := func(data string) string { return "data: " + data + "\n\n" }
	choice := func(delta, reason string) string {
		return event(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}`)
	}
	fault := func(status int, message string) string {
		return fmt.Sprintf(`{"error":{"message":%s,"type":"server_error","param":null,"code":%d}}`, quoted(message), status)
	}
	return adapter{
		name: "openai", key: "OPENAI_API_KEY", address: "llm.openai.base_url",
		at: func(p place) (providers.Provider, error) {
			return openai.New(openai.Config{APIKey: secretKey, API: openai.APIChat, BaseURL: p.base("user:"+password+"@", "/v1?sig="+signature), HTTPClient: p.client, FirstByte: p.first, Logger: p.log})
		},
		piece:   func(s string) string { return choice(`{"content":`+quoted(s)+`}`, "null") },
		thought: func(s string) string { return choice(`{"reasoning_content":`+quoted(s)+`}`, "null") },
		call: func(name, arguments string) string {
			return choice(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":`+quoted(name)+`,"arguments":""}}]}`, "null") +
				choice(`{"tool_calls":[{"index":0,"function":{"arguments":`+quoted(arguments)+`}}]}`, "null")
		},
		end:     choice(`{}`, `"stop"`) + event("[DONE]"),
		cut:     choice(`{}`, `"length"`) + event("[DONE]"),
		because: func(reason string) string { return choice(`{}`, quoted(reason)) },
		refusal: fault,
		broken:  func(status int, message string) string { return event(fault(status, message)) },
		idle:    ": ping\n\n",
	}
}

func anthropics() adapter {
	event := func(name, data string) string {
		return "event: " + name + "\ndata: {\"type\":" + quoted(name) + data + "}\n\n"
	}
	block := func(index int, start string, deltas ...string) string {
		s := event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{%s}`, index, start))
		for _, delta := range deltas {
			s += event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{%s}`, index, delta))
		}
		return s + event("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
	}
	because := func(reason string) string {
		return event("message_delta", `,"delta":{"stop_reason":`+quoted(reason)+`,"stop_sequence":null},"usage":{"output_tokens":3}`)
	}
	fault := func(status int, message string) string {
		names := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error"}
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_1"}`, cmp.Or(names[status], "api_error"), quoted(message))
	}
	return adapter{
		name: "anthropic", key: "ANTHROPIC_API_KEY", address: "llm.anthropic.base_url",
		at: func(p place) (providers.Provider, error) {
			return anthropic.New(anthropic.Config{APIKey: secretKey, BaseURL: p.base("user:"+password+"@", "/v1?sig="+signature), HTTPClient: p.client, FirstByte: p.first, Logger: p.log})
		},
		piece: func(s string) string {
			return block(0, `"type":"text","text":""`, `"type":"text_delta","text":`+quoted(s))
		},
		thought: func(s string) string {
			return block(0, `"type":"thinking","thinking":"","signature":""`, `"type":"thinking_delta","thinking":`+quoted(s), `"type":"signature_delta","signature":"c2ln"`)
		},
		call: func(name, arguments string) string {
			return block(1, `"type":"tool_use","id":"toolu_1","name":`+quoted(name)+`,"input":{}`, `"type":"input_json_delta","partial_json":""`, `"type":"input_json_delta","partial_json":`+quoted(arguments))
		},
		end:     because("end_turn") + event("message_stop", ""),
		cut:     because("max_tokens") + event("message_stop", ""),
		because: because,
		refusal: fault,
		broken: func(status int, message string) string {
			return "event: error\ndata: " + fault(status, message) + "\n\n"
		},
		idle: event("ping", ""),
	}
}

// overResponses is OpenAI's other wire.
func overResponses() adapter {
	event := func(data string) string { return "data: " + data + "\n\n" }
	ends := func(status, details string) string {
		return event(`{"type":"response.` + status + `","response":{"id":"resp_1","status":` + quoted(status) + `,"incomplete_details":` + details + `,"output":[]}}`)
	}
	w := openais()
	w.name, w.of = "responses", w.name
	w.at = func(p place) (providers.Provider, error) {
		return openai.New(openai.Config{Name: w.name, APIKey: secretKey, API: openai.APIResponses, BaseURL: p.base("user:"+password+"@", "/v1?sig="+signature), HTTPClient: p.client, FirstByte: p.first, Logger: p.log})
	}
	w.piece = func(s string) string {
		return event(`{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":` + quoted(s) + `}`)
	}
	w.thought = func(s string) string {
		return event(`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":` + quoted(s) + `}`)
	}
	w.call = func(name, arguments string) string {
		return event(`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":`+quoted(name)+`,"arguments":""}}`) +
			event(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":`+quoted(arguments)+`}`)
	}
	w.end, w.cut = ends("completed", "null"), ends("incomplete", `{"reason":"max_output_tokens"}`)
	w.because = func(string) string { return ends("completed", "null") }
	return w
}

func ollamas() adapter {
	line := func(fields, done string) string {
		return `{"model":"m","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant",` + fields + `},` + done + "}\n"
	}
	fault := func(_ int, message string) string { return `{"error":` + quoted(message) + `}` }
	return adapter{
		name: "ollama", key: "credentials", address: "OLLAMA_BASE_URL",
		at: func(p place) (providers.Provider, error) {
			if p.host == "" {
				p.host = "127.0.0.1:11434"
			}
			return ollama.New(ollama.Config{BaseURL: p.base("user:"+password+"@", ""), HTTPClient: p.client, FirstByte: p.first, Logger: p.log})
		},
		piece:   func(s string) string { return line(`"content":`+quoted(s), `"done":false`) },
		thought: func(s string) string { return line(`"content":"","thinking":`+quoted(s), `"done":false`) },
		call: func(name, arguments string) string {
			return line(`"content":"","tool_calls":[{"function":{"name":`+quoted(name)+`,"arguments":`+arguments+`}}]`, `"done":false`)
		},
		end: line(`"content":""`, `"done_reason":"stop","done":true`),
		cut: line(`"content":""`, `"done_reason":"length","done":true`),
		because: func(reason string) string {
			return line(`"content":""`, `"done_reason":`+quoted(reason)+`,"done":true`)
		},
		refusal: fault,
		broken:  func(status int, message string) string { return fault(status, message) + "\n" },
		idle:    "\n",
	}
}

// A service answers every call with the same body and stores the last request.
type service struct {
	body   func() io.Reader
	sent   []byte
	header http.Header
}

func whole(body string) func() io.Reader { return func() io.Reader { return strings.NewReader(body) } }

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	body := answerOther(req)
	if body == nil {
		s.sent, _ = io.ReadAll(req.Body)
		s.header = req.Header
		body = s.body()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: req}, nil
}

// answerOther answers the other requests of adapters; for calls of models it returns nil.
func answerOther(req *http.Request) io.Reader {
	switch path := req.URL.Path; {
	case strings.HasSuffix(path, "/api/show"):
		return strings.NewReader(`{"template":"{{ .Tools }}","capabilities":["completion","tools","thinking","vision"],"model_info":{"general.architecture":"q","q.context_length":32768}}`)
	case strings.HasPrefix(path, "/api/") && !strings.HasSuffix(path, "/api/chat"):
		return strings.NewReader(`{"models":[{"name":"m","model":"m"}]}`)
	case req.Method == http.MethodGet:
		return strings.NewReader(`{"models":[{"name":"models/m"}],"data":[{"id":"m"}]}`)
	}
	return nil
}

// These tables have an adapter for each service with models.
func TestWires_CoverTheServices(t *testing.T) {
	t.Parallel()
	var adapters []string
	for _, w := range wires() {
		if w.of == "" {
			adapters = append(adapters, w.name)
		}
	}
	if diff := gocmp.Diff(providers.WithModels(), adapters); diff != "" {
		t.Errorf("services, and the adapters that the tests of this folder run over:\n%s", diff)
	}
}

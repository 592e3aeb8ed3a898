package traffic

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"molar/eval/cassettes"
	"molar/providers"
	"molar/providers/anthropic"
	"molar/providers/gemini"
	"molar/providers/ollama"
	"molar/providers/openai"
	"molar/schemas"
)

// A wire is an API of model services.
type wire struct {
	name string
	// path matches the paths of its requests, and shape an event of its answers.
	path  *regexp.Regexp
	shape func(event object) bool
	read  func(all []object) (Reading, error)
	// tools returns the tools that a request offers, and past the calls and results in its history.
	tools func(request object) []schemas.ToolInfo
	past  func(request object) []item
	// open returns the adapter that speaks to a base URL.
	open func(base string, transport http.RoundTripper) (providers.Provider, error)
	// streamed returns a whole answer as the stream that Molar asks for; nil if the adapter reads it
	// as it is.
	streamed func(body string) string
}

// An item is a part of a request's history that belongs to calls.
type item struct {
	kind itemKind
	call Call   // its name and id are those of the call of a result
	text string // of a result, or sealed
}

type itemKind string

const (
	itemCall   itemKind = "call"
	itemResult itemKind = "result"
	itemSealed itemKind = "sealed"
)

// key is given to adapters that require one; it is sent nowhere.
const key = "recorded"

func wires() []wire {
	return []wire{
		{
			name: "gemini", path: regexp.MustCompile(`:(stream)?[gG]enerateContent(Stream)?$`), read: readGemini, tools: geminiTools, past: geminiPast,
			shape: func(e object) bool { return e["candidates"] != nil || e["promptFeedback"] != nil },
			open: func(_ string, t http.RoundTripper) (providers.Provider, error) {
				return gemini.New(gemini.Config{APIKey: key, HTTPClient: &http.Client{Transport: t}})
			},
			streamed: func(body string) string { return "data: " + body + "\r\n\r\n" },
		},
		{
			name: "chat", path: regexp.MustCompile(`/chat/completions$`), read: readChat, tools: chatTools, past: chatPast,
			shape: func(e object) bool {
				for _, c := range list(e["choices"]) {
					return dict(c)["message"] != nil || dict(c)["delta"] != nil
				}
				return false
			},
			open: func(base string, t http.RoundTripper) (providers.Provider, error) {
				return openai.New(openai.Config{API: openai.APIChat, APIKey: key, BaseURL: base, HTTPClient: &http.Client{Transport: t}})
			},
		},
		{
			name: "responses", path: regexp.MustCompile(`/responses$`), read: readResponses, tools: responsesTools, past: responsesPast,
			shape: func(e object) bool {
				return e["object"] == "response" || strings.HasPrefix(asText(e["type"]), "response.")
			},
			open: func(_ string, t http.RoundTripper) (providers.Provider, error) {
				return openai.New(openai.Config{API: openai.APIResponses, APIKey: key, HTTPClient: &http.Client{Transport: t}})
			},
		},
		{
			name: "anthropic", path: regexp.MustCompile(`/v1/messages$`), read: readAnthropic, tools: anthropicTools, past: anthropicPast,
			shape: func(e object) bool {
				return e["type"] == "message_start" || e["type"] == "message" && e["content"] != nil && e["usage"] != nil
			},
			open: func(_ string, t http.RoundTripper) (providers.Provider, error) {
				return anthropic.New(anthropic.Config{APIKey: key, HTTPClient: &http.Client{Transport: t}})
			},
		},
		{
			name: "ollama", path: regexp.MustCompile(`/api/chat$`), read: readOllama, tools: chatTools, past: chatPast,
			shape: func(e object) bool { return e["message"] != nil && e["done"] != nil },
			open: func(_ string, t http.RoundTripper) (providers.Provider, error) {
				return ollama.New(ollama.Config{HTTPClient: &http.Client{Transport: t}})
			},
			streamed: func(body string) string { return body + "\n" },
		},
	}
}

// wireOf returns the wire of an exchange, by the path of its request, else by the shape of its answer.
func wireOf(e cassettes.Exchange) (wire, bool) {
	all := wires()
	address, err := url.Parse(e.URL)
	if err == nil && e.URL != "" {
		if e.Method != "" && !strings.EqualFold(e.Method, http.MethodPost) {
			return wire{}, false
		}
		if i := slices.IndexFunc(all, func(w wire) bool { return w.path.MatchString(address.Path) }); i >= 0 {
			return all[i], true
		}
	}
	list, err := events(e.Response)
	if err != nil {
		return wire{}, false
	}
	i := slices.IndexFunc(all, func(w wire) bool { return w.shape(list[0]) })
	if i < 0 {
		return wire{}, false
	}
	return all[i], true
}

// base returns the base URL of an exchange's request, for adapters that treat services differently.
func base(e cassettes.Exchange) string {
	before, _, found := strings.Cut(e.URL, "/chat/completions")
	if !found || !strings.HasPrefix(before, "http") {
		return ""
	}
	return before
}

// appendTool adds a function with its schema under the first key that it has.
func appendTool(all []schemas.ToolInfo, function object, keys ...string) []schemas.ToolInfo {
	name := asText(function["name"])
	if name == "" {
		return all
	}
	schema := json.RawMessage(`{"type":"object"}`)
	for _, key := range keys {
		if v, there := function[key].(object); there {
			schema = json.RawMessage(encoded(v))
			break
		}
	}
	return append(all, schemas.ToolInfo{Name: name, Server: "recorded", ToolName: name, Description: asText(function["description"]), InputSchema: schema})
}

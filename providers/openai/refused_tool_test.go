package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

// deep returns a question with two tools, the second of which services may refuse.
func deep() providers.Request {
	req := question("?")
	req.Tools = append(weather(), schemas.ToolInfo{Name: "w__get_weather_deep", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)})
	return req
}

// offered returns the tools of each request so far.
func offered(f *fake) []string {
	var all []string
	for _, sent := range f.requests() {
		tools, _ := json.Marshal(sent["tools"])
		var names []string
		for _, name := range []string{`"w__get_weather"`, `"w__get_weather_deep"`} {
			if strings.Contains(string(tools), name) {
				names = append(names, strings.Trim(name, `"`))
			}
		}
		all = append(all, strings.Join(names, " "))
	}
	return all
}

const both = "w__get_weather w__get_weather_deep"

// If a tool's declaration is refused, only that tool is left out, until it changes.
func TestRequest_ARefusedToolIsTakenOut(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"by its name":      `{"error":{"message":"Invalid schema for function 'w__get_weather_deep': schema is too deep"}}`,
		"by its parameter": `{"error":{"message":"schema is too deep","param":"tools[1].function.parameters"}}`,
		"by its place":     `{"error":{"message":"tools.1.custom.input_schema: JSON schema is invalid"}}`,
		"by both":          `{"error":{"message":"invalid JSON schema for tool w__get_weather_deep, tools[1].function.parameters: /properties/w__get_weather: too deep"}}`,
	} {
		f := newFake(t, status(400, body), stream(say("a"), stop, done))
		p, req := at(t, f), deep()
		for range 2 {
			if a := askWithRetries(t.Context(), p, req); a.text != "a" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if diff := cmp.Diff([]string{both, "w__get_weather", "w__get_weather"}, offered(f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		req.Tools[1].Description = "It is flat now."
		if askWithRetries(t.Context(), p, req); offered(f)[3] != both {
			t.Errorf("%s: the tool changed and is not offered", name)
		}
	}
}

// An error about a call, the conversation or anything else leaves out no tool, even if it names
// one.
func TestRequest_OtherRefusalsCostNoTool(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"bad thing",
		"messages.2.content: text with w__get_weather is not valid here",
		"function call `w__get_weather` in the 2. content block is missing a thought_signature",
		"Invalid parameter: messages[3] must answer the tool_calls of w__get_weather",
		"parameters of a tool call are too long: w__get_weather",
		"Invalid schema for function 'somebody_elses'",
	} {
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message}})
		f := newFake(t, status(400, string(body)), stream(say("a"), stop, done))
		p := at(t, f)
		if a := askWithRetries(t.Context(), p, deep()); providers.KindOf(a.err) != providers.KindInvalid {
			t.Errorf("%s: %+v", message, a)
		}
		askWithRetries(t.Context(), p, deep())
		if diff := cmp.Diff([]string{both, both}, offered(f)); diff != "" {
			t.Errorf("%s: %s", message, diff)
		}
	}
}

// A tool counts as refused only once the request was answered without it.
func TestRequest_ADoubtedToolIsNotRefused(t *testing.T) {
	t.Parallel()
	refuses := status(400, `{"error":{"message":"tools.1: JSON schema is invalid"}}`)
	fails := status(400, `{"error":{"message":"no"}}`)
	good := stream(say("a"), stop, done)
	f := newFake(t, refuses, fails, refuses, stream(stop, done), good, good)
	p := at(t, f)
	if a := askWithRetries(t.Context(), p, deep()); providers.KindOf(a.err) != providers.KindInvalid || len(p.LeftOut(deep().Tools)) != 0 {
		t.Errorf("%+v, left out %v", a, p.LeftOut(deep().Tools))
	}
	// While this is uncertain, because the same request is repeated for another reason, the tool
	// stays.
	for range 2 {
		if a := askWithRetries(t.Context(), p, deep()); a.text != "a" {
			t.Errorf("%+v", a)
		}
	}
	if diff := cmp.Diff([]string{both, "w__get_weather", both, "w__get_weather", "w__get_weather", "w__get_weather"}, offered(f)); diff != "" {
		t.Error(diff)
	}
}

// After a day a refused tool is tried again.
func TestRequest_ARefusalLastsADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var offered []bool
		p := newProvider(t, openai.Config{API: openai.APIChat, HTTPClient: &http.Client{Transport: reading(func(body string) *http.Response {
			offered = append(offered, strings.Contains(body, "w__get_weather_deep"))
			if offered[len(offered)-1] {
				return says(400, `{"error":{"message":"tools.1: JSON schema is invalid"}}`)
			}
			return good()
		})}})
		for _, wait := range []time.Duration{0, 24*time.Hour - time.Minute, time.Minute} {
			time.Sleep(wait)
			if a := askWithRetries(t.Context(), p, deep()); a.text != "a" {
				t.Errorf("%+v", a)
			}
			if reason := p.LeftOut(deep().Tools)["w__get_weather_deep"]; !strings.Contains(reason, "JSON schema is invalid") || !strings.Contains(reason, "until") {
				t.Errorf("left out because %q", reason)
			}
		}
		if diff := cmp.Diff([]bool{true, false, false, true, false}, offered); diff != "" {
			t.Error(diff)
		}
	})
}

// reading is a transport whose answers come from a function of the request's body.
type reading func(body string) *http.Response

func (r reading) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	return r(string(body)), err
}

// A call that the service itself refuses is answered like any call with bad arguments; one that
// cannot be parsed is requested once more. No tool is left out.
func TestStream_ARefusedCall(t *testing.T) {
	t.Parallel()
	refuses := func(message, generation string) string {
		body, _ := json.Marshal(map[string]any{"error": map[string]any{
			"message": message, "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": generation, "status_code": 400,
		}})
		return string(body)
	}
	const unfit = "Tool call validation failed: tool call validation failed: parameters for tool w__get_weather did not match schema: errors: [missing properties: 'city', additionalProperties 'seed' not allowed]"
	const unread = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
	written := []schemas.FunctionCall{{Name: "w__get_weather", Arguments: `{"seed":7}`}}
	good := stream(say("a"), stop, done)
	for name, c := range map[string]struct {
		steps    []http.HandlerFunc
		requests int
		calls    []schemas.FunctionCall
		text     string
		kind     providers.Kind
	}{
		"arguments that do not fit":       {[]http.HandlerFunc{status(400, refuses(unfit, `{"name": "w__get_weather", "arguments": {"seed": 7}}`))}, 1, written, "", ""},
		"a form that was not read":        {[]http.HandlerFunc{status(400, refuses(unread, "<tool_call>{\"name\": \"w__get_weather\", \"arguments\": {\"seed\": 7}}</tool_call>"))}, 1, written, "", ""},
		"in the stream":                   {[]http.HandlerFunc{raw("text/event-stream", "event: error\ndata: "+refuses(unfit, `{"name": "w__get_weather", "arguments": {"seed": 7}}`)+"\n\n")}, 1, written, "", ""},
		"in the stream, after a sentence": {[]http.HandlerFunc{raw("text/event-stream", "data: "+say("Let me see.")+"\n\nevent: error\ndata: "+refuses(unfit, `{"name": "w__get_weather", "arguments": {"seed": 7}}`)+"\n\n")}, 1, written, "Let me see.", ""},
		"a tool that is not there":        {[]http.HandlerFunc{status(400, refuses("attempted to call tool 'json' which was not in request.tools", `{"name":"json","arguments":{"a":1}}`))}, 1, []schemas.FunctionCall{{Name: "json", Arguments: `{"a":1}`}}, "", ""},
		"not to be read, then well":       {[]http.HandlerFunc{status(400, refuses(unread, "w__get_weather{\"seed\": 7}</function>")), good}, 2, nil, "a", ""},
		"not to be read for ever":         {[]http.HandlerFunc{status(400, refuses(unread, ""))}, 2, nil, "", providers.KindInvalid},
		"the same in the stream":          {[]http.HandlerFunc{raw("text/event-stream", "event: error\ndata: "+refuses(unread, "")+"\n\n"), good}, 2, nil, "a", ""},
		"no call after a sentence":        {[]http.HandlerFunc{raw("text/event-stream", "data: "+say("Let me see.")+"\n\nevent: error\ndata: "+refuses("Tool choice is required, but model did not call a tool", "")+"\n\n"), good}, 2, nil, "Let me see.a", ""}, // the sentence is retracted
	} {
		f := newFake(t, c.steps...)
		p, req := at(t, f), question("?")
		req.Tools, req.Seed = weather(), new(int64(7))
		a := askWithRetries(t.Context(), p, req)
		finish := providers.FinishToolCalls
		if c.calls == nil {
			finish = providers.FinishStop
		}
		if providers.KindOf(a.err) != c.kind || a.text != c.text || a.err == nil && a.finish != finish || len(f.requests()) != c.requests {
			t.Errorf("%s: %+v after %d requests", name, a, len(f.requests()))
		}
		if diff := cmp.Diff(c.calls, a.functions()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		askWithRetries(t.Context(), p, req)
		sent := f.requests()[len(f.requests())-1]
		if tools, _ := json.Marshal(sent["tools"]); !strings.Contains(string(tools), "w__get_weather") || sent["seed"] == nil {
			t.Errorf("%s: sent afterwards %v", name, sent)
		}
	}
}

// If no call is allowed, none is read.
func TestStream_ARefusedCallThatIsForbidden(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(400, `{"error":{"message":"Tool choice is none, but model called a tool","code":"tool_use_failed","failed_generation":"{\"name\":\"w__get_weather\",\"arguments\":{}}"}}`), stream(say("a"), stop, done))
	req := question("?")
	req.Tools, req.ForbidCalls = weather(), true
	if a := askWithRetries(t.Context(), at(t, f), req); a.text != "a" || len(a.calls) != 0 {
		t.Errorf("%+v", a)
	}
}

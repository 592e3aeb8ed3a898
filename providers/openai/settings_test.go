package openai_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

// Settings of a request override those of the provider.
func TestRequest_Settings(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(say("a"), stop, done))
	p := newProvider(t, openai.Config{BaseURL: f.url, APIKey: "k", Tuning: schemas.Tuning{
		Temperature: new(0.3), TopP: new(0.9), MaxTokens: 100, Thinking: schemas.ThinkingLow,
		Headers: map[string]schemas.Secret{"Api-Key": "azure", "X-Team": "a"}, ExtraBody: json.RawMessage(`{"top_k":40,"stream_options":{"chunk":1}}`),
	}})
	req := question("hi")
	req.Temperature, req.Seed, req.Headers = new(0.0), new(int64(7)), map[string]string{"X-Team": "b"}
	ask(t.Context(), p, req)
	sent := f.requests()[0]
	delete(sent, "messages")
	want := parse(t, `{"model":"m","stream":true,"stream_options":{"include_usage":true,"chunk":1},"temperature":0,"top_p":0.9,
		"seed":7,"max_tokens":100,"reasoning_effort":"low","top_k":40}`)
	if diff := cmp.Diff(want, any(sent)); diff != "" {
		t.Error(diff)
	}
	h := f.header()
	if h.Get("Api-Key") != "azure" || h.Get("X-Team") != "b" || h.Get("Authorization") != "Bearer k" {
		t.Errorf("headers %v", h)
	}
}

// Thinking is switched off in the first way that the model accepts.
func TestRequest_ThinkingOff(t *testing.T) {
	t.Parallel()
	refuse := func(value string) http.HandlerFunc {
		return status(400, `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support '`+value+`' with this model.","param":"reasoning_effort"}}`)
	}
	f := newFake(t, refuse("none"), refuse("minimal"), refuse("low"), stream(say("a"), stop, done))
	p := at(t, f)
	req := question("hi")
	req.Thinking = schemas.ThinkingOff
	for range 2 {
		if a := askWithRetries(t.Context(), p, req); a.text != "a" {
			t.Fatalf("%+v", a)
		}
	}
	var got []any
	for _, sent := range f.requests() {
		got = append(got, sent["reasoning_effort"])
	}
	if diff := cmp.Diff([]any{"none", "minimal", "low", nil, nil}, got); diff != "" {
		t.Error(diff)
	}
}

// A model that accepts tools only without thinking gets requests with tools without thinking,
// whether an effort was sent or not; other requests keep theirs.
func TestRequest_NoThinkingBesideTools(t *testing.T) {
	t.Parallel()
	const older = "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead."
	const newer = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
	for name, c := range map[string]struct {
		message  string
		thinking schemas.Thinking
		efforts  []any // of two requests with tools and one without
	}{
		"unset":      {newer, "", []any{nil, "none", "none", nil}},
		"low":        {newer, schemas.ThinkingLow, []any{"low", "none", "none", "low"}},
		"off":        {newer, schemas.ThinkingOff, []any{"none", "none", "none"}},
		"older, low": {older, schemas.ThinkingLow, []any{"low", "none", "none", "low"}},
	} {
		var log strings.Builder
		f := newFake(t)
		f.steps = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			sent := f.requests()[len(f.requests())-1]
			effort, set := sent["reasoning_effort"]
			if refuses := set || c.message == newer; refuses && effort != "none" && sent["tools"] != nil {
				status(400, `{"error":{"message":"`+c.message+`","type":"invalid_request_error","param":"reasoning_effort","code":null}}`)(w, r)
				return
			}
			stream(say("a"), stop, done)(w, r)
		}}
		p := newProvider(t, openai.Config{API: openai.APIChat, BaseURL: f.url, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		req := question("hi")
		req.Thinking, req.Tools = c.thinking, weather()
		for range 2 {
			if a := askWithRetries(t.Context(), p, req); a.text != "a" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		req.Tools = nil
		askWithRetries(t.Context(), p, req)
		var got []any
		for _, sent := range f.requests() {
			got = append(got, sent["reasoning_effort"])
		}
		if diff := cmp.Diff(c.efforts, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if said, want := strings.Count(log.String(), "only when it does not think"), len(c.efforts)-3; said != want {
			t.Errorf("%s: it was said %d times, want %d", name, said, want)
		}
	}
}

// A judge that spends its few tokens on thoughts is called without thinking, and with more
// tokens.
func TestStream_ASmallAnswerIsNotStarvedByThoughts(t *testing.T) {
	t.Parallel()
	thought := head + `"delta":{"reasoning_content":"Is it about teeth?"}` + tail
	length := strings.ReplaceAll(stop, `"stop"`, `"length"`)
	f := newFake(t, stream(thought, length, used, done), stream(thought, length, used, done), stream(thought, say("YES"), stop, used, done))
	p := at(t, f)
	req := question("?")
	req.Pass, req.MaxTokens = providers.PassGuardrail, 24
	for range 2 {
		if a := askWithRetries(t.Context(), p, req); a.text != "YES" || a.finish != providers.FinishStop {
			t.Fatalf("%+v", a)
		}
	}
	var tokens, effort []any
	for _, sent := range f.requests() {
		tokens, effort = append(tokens, sent["max_tokens"]), append(effort, sent["reasoning_effort"])
	}
	if diff := cmp.Diff([]any{24.0, 1048.0, nil, nil}, tokens); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{nil, "none", "none", "none"}, effort); diff != "" {
		t.Error(diff)
	}
	// The limit of an answer to a person is not raised.
	req.Pass, req.Model = providers.PassAnswer, "other"
	f.steps = []http.HandlerFunc{stream(thought, length, done)}
	if a := askWithRetries(t.Context(), p, req); a.finish != providers.FinishLength {
		t.Errorf("%+v", a)
	}
}

// Reasoning is sent back with the calls that it led to, under the server's own names, and only in
// the same turn.
func TestRequest_ReasoningGoesBackWithinTheTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"DeepSeek":  {[]string{`{"reasoning_content":"Look "}`, `{"reasoning_content":"it up."}`}, `{"reasoning_content":"Look it up."}`},
		"reasoning": {[]string{`{"reasoning":"Look it up."}`}, `{"reasoning":"Look it up."}`},
		"OpenRouter": {
			[]string{
				`{"reasoning":"Lo","reasoning_details":[{"type":"reasoning.text","text":"Lo","index":0,"format":"x"}]}`,
				`{"reasoning":"ok","reasoning_details":[{"type":"reasoning.text","text":"ok","index":0,"signature":"s=="}]}`,
				`{"reasoning_details":[{"type":"reasoning.encrypted","data":"abc","index":1,"id":"t1"}]}`,
			},
			`{"reasoning":"Look","reasoning_details":[{"type":"reasoning.text","text":"Look","index":0,"format":"x","signature":"s=="},` +
				`{"type":"reasoning.encrypted","data":"abc","index":1,"id":"t1"}]}`,
		},
		"Mistral": {
			[]string{
				`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Look "}]}]}`,
				`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"it up."}]}]}`,
			},
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Look it up."}]}]}`,
		},
		"none": {nil, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []string
			for _, piece := range c.pieces {
				list = append(list, head+`"delta":`+piece+tail)
			}
			list = append(list, begin(0, "c1", "w__get_weather"), more(0, `{"city":"Huế"}`), call, done)
			f := newFake(t, stream(list...), stream(say("Sunny."), stop, done))
			p := at(t, f)
			req := question("Weather?")
			req.Tools = weather()
			first := ask(t.Context(), p, req)
			req.Messages = append(req.Messages,
				schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &first.calls[0], State: first.states[0]}}},
				schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: first.calls[0].ID, Output: []byte(`"31"`)}}}})
			ask(t.Context(), p, req)
			req.Messages = append(req.Messages, schemas.Text(schemas.RoleAssistant, "Sunny."), schemas.Text(schemas.RoleUser, "Thanks."))
			ask(t.Context(), p, req)
			got := map[string]any{}
			for i, sent := range f.requests()[1:] {
				m := sent["messages"].([]any)[1].(map[string]any)
				for _, key := range []string{"reasoning_content", "reasoning", "reasoning_details", "content"} {
					if v, ok := m[key]; ok && v != nil && i == 0 {
						got[key] = v
					} else if ok && v != nil {
						t.Errorf("%s went back in a later turn", key)
					}
				}
			}
			if diff := cmp.Diff(parse(t, c.want), any(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A native call by the tool's own name is a call of the offered tool.
func TestStream_ANativeCallByItsOwnName(t *testing.T) {
	t.Parallel()
	req := question("Weather?")
	req.Tools = weather()
	a := ask(t.Context(), at(t, newFake(t, stream(begin(0, "c", "get_weather"), more(0, `{"city":"Huế"}`), call, done))), req)
	if len(a.calls) != 1 || a.calls[0].Function.Name != "w__get_weather" {
		t.Errorf("%+v", a)
	}
}

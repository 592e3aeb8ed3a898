package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
)

func fault(k providers.Kind) error {
	return fmt.Errorf("answer: %w", &providers.Error{Kind: k, Provider: "ollama", Model: "qwen", RetryAfter: 1500 * time.Millisecond, Err: errors.New("the cause")})
}

// withStatus returns the error of a service that answered with a status.
func withStatus(status int) error {
	return &providers.Error{Kind: providers.KindUnavailable, Provider: "openai", Status: status, Err: errors.New("it says why")}
}

func TestChat_FailureBeforeTheFirstByte(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"invalid", fmt.Errorf("%w: no topic", agent.ErrInvalid), 400, "invalid_request"},
		{"tool choice", fmt.Errorf("%w: none", agent.ErrToolChoice), 400, "invalid_request"},
		{"unknown assistant", fmt.Errorf("%w: no assistant", agent.ErrNotFound), 404, "model_not_found"},
		{"busy", agent.ErrBusy, 409, "conversation_busy"},
		{"unavailable", agent.ErrUnavailable, 503, "server_unavailable"},
		{"search", fmt.Errorf("%w: no key", agent.ErrSearch), 503, "search_unavailable"},
		{"store", fmt.Errorf("%w: locked", agent.ErrStore), 503, "store_unavailable"},
		{"not saved", agent.ErrNotSaved, 502, "answer_not_saved"},
		{"provider invalid", fault(providers.KindInvalid), 400, "invalid_request"},
		{"context length", fault(providers.KindContextLength), 400, "context_length_exceeded"},
		{"unknown model", fault(providers.KindModelNotFound), 404, "model_not_found"},
		{"auth", fault(providers.KindAuth), 502, "model_auth"},
		{"quota", fault(providers.KindQuota), 429, "model_quota"},
		{"budget", fault(providers.KindBudget), 429, "budget_exceeded"},
		{"provider down", fault(providers.KindUnavailable), 503, "model_unreachable"},
		{"nothing at the address", withStatus(404), 503, "model_unreachable"},
		{"provider's fault", withStatus(500), 502, "model_failed"},
		{"fault within a stream", withStatus(200), 502, "model_failed"},
		{"provider overloaded", withStatus(503), 503, "model_overloaded"},
		{"provider overloaded in its own words", withStatus(529), 503, "model_overloaded"},
		{"provider slow", fault(providers.KindTimeout), 504, "model_timeout"},
		{"incomplete", fault(providers.KindIncomplete), 502, "model_incomplete"},
		{"protocol", fault(providers.KindProtocol), 502, "model_protocol"},
		{"schema", fmt.Errorf("%w: at /n: got string, want number", agent.ErrSchema), 502, "model_schema_mismatch"},
		{"deadline", context.DeadlineExceeded, 504, "timeout"},
		{"unknown", errors.New("secret detail"), 500, "internal_error"},
		{"no end", nil, 500, "internal_error"},
	}
	for _, tt := range tests {
		for _, stream := range []string{"true", "false"} {
			t.Run(tt.name+" stream "+stream, func(t *testing.T) {
				w := post(handler(t, play(tt.err, start())), `{"stream":`+stream+`,`+question+`}`)
				code, _, message := errorOf(t, w.Body.Bytes())
				if w.Code != tt.status || code != tt.code {
					t.Errorf("%d %q, want %d %q", w.Code, code, tt.status, tt.code)
				}
				if strings.Contains(message, "secret") {
					t.Errorf("message shows an unknown error: %q", message)
				}
				if id := w.Header().Get("X-Request-Id"); w.Code >= 500 && !strings.Contains(message, id) {
					t.Errorf("message %q lacks the request id %q", message, id)
				}
				if retry := w.Header().Get("Retry-After"); tt.status == 429 && retry != "2" {
					t.Errorf("Retry-After = %q, want 2", retry)
				} else if errors.Is(tt.err, agent.ErrUnavailable) && retry != "1" {
					t.Errorf("Retry-After = %q, want 1", retry)
				}
			})
		}
	}
}

func TestChat_FailureAfterATool(t *testing.T) {
	for _, seen := range [][]answer.Event{{toolCall()}, {toolCall(), toolResult()}, {toolCall(), toolResult(), text("part")}} {
		for err, status := range map[error]int{
			agent.ErrBusy: 400, fault(providers.KindQuota): 400, fault(providers.KindTimeout): 400,
			errors.New("unknown"): 400, agent.ErrNotSaved: 400, agent.ErrInvalid: 400,
		} {
			w := post(handler(t, play(err, append([]answer.Event{start()}, seen...)...)), `{`+question+`}`)
			if w.Code != status || w.Header().Get("X-Should-Retry") != "false" || w.Header().Get("Retry-After") != "" {
				t.Errorf("after %d events %v: status %d, headers %v", len(seen), err, w.Code, w.Header())
			}
		}
	}
}

// A failure reports that a tool has run only if a call may have had an effect: not after a search,
// a tool that only reads, or a call that did not reach its server.
func TestChat_FailureAfterACallWithoutEffect(t *testing.T) {
	plain := func(ev answer.Event) answer.Event { ev.Effect = false; return ev }
	for name, seen := range map[string][]answer.Event{
		"a search":              {plain(toolCall()), plain(toolResult())},
		"a reader under way":    {plain(toolCall())},
		"a call that was stuck": {toolCall(), plain(toolResult())},
	} {
		for _, stream := range []string{"true", "false"} {
			w := post(handler(t, play(withStatus(500), append([]answer.Event{start()}, seen...)...)), `{"stream":`+stream+`,`+question+`}`)
			if name == "a call that was stuck" && stream == "true" { // the stream was already open
				if body := w.Body.String(); w.Code != 200 || strings.Contains(body, "a tool had already run") || !strings.Contains(body, `"model_failed"`) {
					t.Errorf("%s, stream: %d %s", name, w.Code, body)
				}
				continue
			}
			if code, _, message := errorOf(t, w.Body.Bytes()); w.Code != 502 || code != "model_failed" || strings.Contains(message, "a tool had already run") {
				t.Errorf("%s, stream %s: %d %q %q", name, stream, w.Code, code, message)
			}
		}
	}
}

func TestChat_FailureInTheStream(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		seen answer.Event
		code string
	}{
		"after text":      {fault(providers.KindIncomplete), text("part"), "model_incomplete"},
		"after a tool":    {fault(providers.KindQuota), toolCall(), "model_quota"},
		"not saved":       {agent.ErrNotSaved, text("all"), "answer_not_saved"},
		"without its end": {nil, text("part"), "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(handler(t, play(tt.err, start(), tt.seen)), `{"stream":true,`+question+`}`)
			body := w.Body.String()
			if w.Code != 200 || strings.Contains(body, "[DONE]") || strings.Contains(body, `"finish_reason":"`) {
				t.Errorf("a broken stream looks whole: %d %s", w.Code, body)
			}
			events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
			code, _, _ := errorOf(t, []byte(strings.TrimPrefix(events[len(events)-1], "data: ")))
			if code != tt.code || !strings.HasSuffix(body, "\n\n") {
				t.Errorf("last event has code %q, want %q: %s", code, tt.code, body)
			}
		})
	}
}

func TestChat_Panic(t *testing.T) {
	h := handler(t, script(func(context.Context, agent.Turn, func(answer.Event) bool) error { panic("boom") }))
	for _, stream := range []string{"true", "false"} {
		w := post(h, `{"stream":`+stream+`,`+question+`}`)
		code, _, message := errorOf(t, w.Body.Bytes())
		if w.Code != 500 || code != "internal_error" || strings.Contains(message, "boom") {
			t.Errorf("stream %s: %d %s", stream, w.Code, w.Body)
		}
	}
	cfg := config(t, play(nil))
	cfg.Ready = func(context.Context) error { panic("boom") }
	w := serve(build(t, cfg), request(http.MethodGet, "/ready", ""))
	if code, _, _ := errorOf(t, w.Body.Bytes()); w.Code != 500 || code != "internal_error" {
		t.Errorf("handler panic: %d %s", w.Code, w.Body)
	}
}

// A failure names the turn and its conversation, in headers and in the body, so that a client can
// continue where the question is stored: also if the turn began the conversation, and if the stream
// had begun.
func TestChat_FailureNamesItsConversation(t *testing.T) {
	for name, tt := range map[string]struct {
		body   string
		events []answer.Event
	}{
		"whole":                    {`{`, []answer.Event{start()}},
		"whole, after a tool":      {`{`, []answer.Event{start(), toolCall()}},
		"stream":                   {`{"stream":true,`, []answer.Event{start()}},
		"stream, with events":      {`{"stream":true,"molar":{"events":true,"detach":true},`, []answer.Event{start()}},
		"stream, after some words": {`{"stream":true,`, []answer.Event{start(), text("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(handler(t, play(fault(providers.KindQuota), tt.events...)), tt.body+question+`}`)
			if turn, conversation := w.Header().Get("X-Turn-Id"), w.Header().Get("X-Conversation-Id"); turn != "t1" || conversation != "c1" {
				t.Errorf("the headers name turn %q and conversation %q", turn, conversation)
			}
			body := w.Body.String()
			if events := strings.Split(strings.TrimSpace(body), "\n\n"); w.Code == http.StatusOK {
				body = strings.TrimPrefix(events[len(events)-1], "data: ")
			}
			var told struct {
				Error *struct{ Code string }
				Molar struct {
					ConversationID string `json:"conversation_id"`
					TurnID         string `json:"turn_id"`
				}
			}
			if err := json.Unmarshal([]byte(body), &told); err != nil || told.Error == nil || told.Molar.TurnID != "t1" || told.Molar.ConversationID != "c1" {
				t.Errorf("%v: %s", err, body)
			}
		})
	}
}

// An error from before a turn began names no turn.
func TestChat_RefusedRequestNamesNoTurn(t *testing.T) {
	w := post(handler(t, play(nil, start(), done())), `{"messages":[]}`)
	if w.Code != http.StatusBadRequest || w.Header().Get("X-Turn-Id") != "" || strings.Contains(w.Body.String(), "turn_id") {
		t.Errorf("%d, %v: %s", w.Code, w.Header(), w.Body)
	}
}

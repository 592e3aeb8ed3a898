package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

func TestRoutes(t *testing.T) {
	tests := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/models", "", 200, `{"object":"list","data":[{"id":"dental","object":"model","created":1777863721,"owned_by":"molar","description":"About teeth."}]}`},
		{"GET", "/v1/models/dental", "", 200, `{"id":"dental","object":"model","created":1777863721,"owned_by":"molar","description":"About teeth."}`},
		{"GET", "/v1/models/gpt", "", 404, "model_not_found"},
		{"GET", "/v1/conversations", "", 200, `{"object":"list","data":[],"has_more":false}`},
		{"GET", "/v1/conversations?limit=1", "", 200, `{"object":"list","data":[{"id":"c1","title":"Teeth","messages":2,"created_at":"2026-05-04T03:02:01Z","updated_at":"2026-05-04T03:02:01Z"}],"has_more":true,"next":"next1"}`},
		{"GET", "/v1/conversations?limit=0", "", 400, `"param":"limit"`},
		{"GET", "/v1/conversations?limit=x", "", 400, `"param":"limit"`},
		{"GET", "/v1/conversations?after=1795302107171-36", "", 200, `{"object":"list","data":[],"has_more":false}`},
		{"GET", "/v1/conversations?after=zzz", "", 400, `"param":"after"`},
		{"GET", "/v1/conversations?q=%ff", "", 400, `"param":"q"`},
		{"GET", "/v1/conversations/c1", "", 200, `{"id":"c1","object":"conversation","created_at":1777863721,"metadata":{},"summary":"a summary","messages":[{"seq":1,"role":"user","content":"hi","timestamp":"2026-05-04T03:02:01Z"}]}`},
		{"GET", "/v1/conversations/c2", "", 404, "conversation_not_found"},
		{"PATCH", "/v1/conversations/c1", `{"title":" My \n teeth "}`, 200, `{"id":"c1","object":"conversation","title":"My teeth"}`},
		{"PATCH", "/v1/conversations/c1", `{"title":" "}`, 400, `"param":"title"`},
		{"PATCH", "/v1/conversations/c1", `{"title":5}`, 400, `"param":"title"`},
		{"PATCH", "/v1/conversations/c1", `{"title":"` + strings.Repeat("ă", 201) + `"}`, 400, `"param":"title"`},
		{"PATCH", "/v1/conversations/c2", `{"title":"x"}`, 404, "conversation_not_found"},
		{"POST", "/v1/conversations/c1/clear", "", 200, `{"cleared":true,"id":"c1","object":"conversation"}`},
		{"POST", "/v1/conversations/c2/clear", "", 404, "conversation_not_found"},
		{"DELETE", "/v1/conversations/c1", "", 200, `{"deleted":true,"id":"c1","object":"conversation.deleted"}`},
		{"DELETE", "/v1/conversations/c2", "", 404, "conversation_not_found"},
		{"GET", "/v1/turns/t1", "", 200, `{"turn_id":"t1"}`},
		{"GET", "/v1/turns/t2", "", 404, "turn_not_found"},
		{"GET", "/v1/tools", "", 200, `{"object":"list","data":[{"name":"family__search","server":"family","toolName":"search","inputSchema":{"type":"object"},"policy":"confirm","readOnly":true,"enabled":true}]}`},
		{"GET", "/v1/servers", "", 200, `{"object":"list","data":[{"name":"family","state":"ready","transport":"stdio","tools":1,"since":"2026-05-04T03:02:01Z"}]}`},
		{"GET", "/health", "", 200, `{"status":"ok","version":"1.2.3"}`},
		{"GET", "/ready", "", 200, `{"status":"ready"}`},
		{"HEAD", "/health", "", 200, ""},
		{"GET", "/nothing", "", 404, "unknown_route"},
		{"GET", "/static/none.js", "", 404, "unknown_route"},
		{"GET", "/static/../web.go", "", 404, "unknown_route"},
		{"GET", "/v1/chat/completions", "", 405, "method_not_allowed"},
		{"PUT", "/v1/models", `{}`, 405, "method_not_allowed"},
	}
	h := handler(t, play(nil))
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := serve(h, request(tt.method, tt.path, tt.body))
			got := w.Body.String()
			if w.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", w.Code, tt.status, got)
			}
			if tt.status >= 400 {
				errorOf(t, w.Body.Bytes())
				if !strings.Contains(got, tt.want) {
					t.Errorf("%s lacks %s", got, tt.want)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && tt.method != http.MethodHead {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// Refusals of services are shown with each tool, and deleted by the tool's full name.
func TestRoutes_RefusedTools(t *testing.T) {
	cfg := operated(t, play(nil))
	forgotten := ""
	refused := cfg.Operations.Refusals
	cfg.Operations.Refusals = func(tool schemas.Tool) []schemas.Refusal {
		if forgotten != "" {
			return nil
		}
		return refused(tool)
	}
	cfg.Operations.ForgetRefusals = func(_ context.Context, name string) error {
		forgotten = name
		return nil
	}
	h := build(t, cfg)
	const want = `"refused":[{"provider":"openai","reason":"its schema is too deep","refused_at":"2026-05-04T03:02:01Z","until":"2026-05-05T03:02:01Z"}]`
	if got := serve(h, request(http.MethodGet, "/v1/tools", "")).Body.String(); !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
	w := serve(h, request(http.MethodDelete, "/v1/tools/search/refusals", ""))
	if w.Code != 200 || forgotten != "family__search" || strings.Contains(w.Body.String(), "refused") {
		t.Errorf("status %d, forgot %q, answer %s", w.Code, forgotten, w.Body)
	}
}

func TestRoutes_FailingStore(t *testing.T) {
	cfg := config(t, play(nil))
	broken := &fakeStore{err: errors.New("disk: secret path")}
	cfg.Conversations, cfg.Traces = broken, broken
	cfg.Ready = func(context.Context) error { return errors.New("the store does not answer") }
	h := build(t, cfg)
	for _, path := range []string{"/v1/conversations", "/v1/conversations/c1", "/v1/turns/t1"} {
		w := serve(h, request(http.MethodGet, path, ""))
		if code, _, message := errorOf(t, w.Body.Bytes()); w.Code != 503 || code != "store_unavailable" || w.Header().Get("Retry-After") == "" || strings.Contains(message, "secret") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := serve(h, request(http.MethodGet, "/ready", ""))
	if _, _, message := errorOf(t, w.Body.Bytes()); w.Code != 503 || !strings.Contains(message, "the store does not answer") {
		t.Errorf("/ready: %d %s", w.Code, w.Body)
	}
}

func TestRequestID(t *testing.T) {
	h := handler(t, play(nil))
	for given, echoed := range map[string]bool{"my-id.1": true, "a b": false, "": false, strings.Repeat("a", 129): false} {
		r := request(http.MethodGet, "/nothing", "")
		r.Header.Set("X-Request-Id", given)
		got := serve(h, r).Header().Get("X-Request-Id")
		if (got == given) != echoed || got == "" {
			t.Errorf("id %q was answered %q", given, got)
		}
	}
	r := request(http.MethodGet, "/health", "")
	r.Host = "evil.test"
	r.URL.Path = "/v1/models"
	if w := serve(h, r); w.Code != http.StatusForbidden || w.Header().Get("X-Request-Id") == "" {
		t.Errorf("a refusal of the guard: %d, headers %v", w.Code, w.Header())
	}
}

func TestNew_RejectsBadConfig(t *testing.T) {
	if _, err := web.New(web.Config{KeepAlive: -1}); err == nil ||
		!strings.Contains(err.Error(), "Guard is required") || !strings.Contains(err.Error(), "KeepAlive") {
		t.Errorf("New accepted an empty config: %v", err)
	}
	if _, err := httpguard.New(httpguard.Config{}); err == nil {
		t.Error("a guard without hosts was made")
	}
}

// A request for an invalid conversation id does not reach the store, and so does not fail.
func TestRoutes_ImpossibleConversations(t *testing.T) {
	cfg := config(t, play(nil))
	cfg.Conversations = &fakeStore{err: errors.New("the store was asked")}
	h := build(t, cfg)
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/v1/conversations/%00", ""},
		{"GET", "/v1/conversations/%ff", ""},
		{"PATCH", "/v1/conversations/a%0ab", `{"title":"x"}`},
		{"DELETE", "/v1/conversations/" + strings.Repeat("a", 257), ""},
		{"POST", "/v1/conversations/%7f/clear", ""},
	} {
		w := serve(h, request(r.method, r.path, r.body))
		if code, _, _ := errorOf(t, w.Body.Bytes()); w.Code != 404 || code != "conversation_not_found" {
			t.Errorf("%s %.40s: %d %s", r.method, r.path, w.Code, w.Body)
		}
	}
}

package stubmcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/testkit/stubmcp"
)

func post(t *testing.T, s http.Handler, session, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestServeHTTP_Session(t *testing.T) {
	s := stubmcp.New(stubmcp.Config{Tools: 2})
	hello := post(t, s, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	session := hello.Header().Get("Mcp-Session-Id")
	if session == "" || !strings.Contains(hello.Body.String(), `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("got %s", hello.Body)
	}
	tests := []struct {
		name, session, body string
		status              int
		want                string
	}{
		{"a notification", session, `{"method":"notifications/initialized"}`, 202, ""},
		{"the list", session, `{"id":"a","method":"tools/list"}`, 200, `"name":"stub_tool_1"`},
		{"a call", session, `{"id":2,"method":"tools/call","params":{"name":"get_family_details"}}`, 200, `1980-02-11`},
		{"an unknown tool", session, `{"id":2,"method":"tools/call","params":{"name":"x"}}`, 200, `-32602`},
		{"an unknown method", session, `{"id":2,"method":"x"}`, 200, `-32601`},
		{"a later protocol", "", `{"id":0,"method":"server/discover"}`, 200, `-32601`},
		{"no session", "", `{"id":2,"method":"tools/list"}`, 400, ""},
		{"an unknown session", "x", `{"id":2,"method":"tools/list"}`, 404, ""},
		{"broken JSON", session, `{`, 400, `-32700`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := post(t, s, test.session, test.body)
			if got.Code != test.status || !strings.Contains(got.Body.String(), test.want) {
				t.Errorf("got %d %s, want %d %s", got.Code, got.Body, test.status, test.want)
			}
		})
	}
	end := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/mcp", http.NoBody)
	end.Header.Set("Mcp-Session-Id", session)
	s.ServeHTTP(httptest.NewRecorder(), end)
	if got := post(t, s, session, `{"id":3,"method":"ping"}`); got.Code != http.StatusNotFound {
		t.Errorf("after the end of the session: %d", got.Code)
	}
}

func TestServeStdio_CallsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stubmcp.New(stubmcp.Config{Delay: 300 * time.Millisecond})
		call := `{"id":1,"method":"tools/call","params":{"name":"get_family_details"}}` + "\n"
		var out strings.Builder
		begin := time.Now()
		if err := s.ServeStdio(t.Context(), strings.NewReader(strings.Repeat(call, 4)), &out); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 300*time.Millisecond || strings.Count(out.String(), "\n") != 4 || s.Calls() != 4 {
			t.Errorf("took %v for %s", took, out.String())
		}
	})
}

func TestNew_MakesToolsUp(t *testing.T) {
	list := func(seed uint64) string {
		s := stubmcp.New(stubmcp.Config{Tools: 20, Seed: seed})
		session := post(t, s, "", `{"id":1,"method":"initialize"}`).Header().Get("Mcp-Session-Id")
		return post(t, s, session, `{"id":2,"method":"tools/list"}`).Body.String()
	}
	first := list(1)
	if !json.Valid([]byte(first)) || strings.Count(first, `"inputSchema"`) != 20 || len(first) < 20<<10 {
		t.Errorf("%d bytes: %s", len(first), first)
	}
	if list(1) != first || list(2) == first {
		t.Error("the seed does not decide about the tools")
	}
}

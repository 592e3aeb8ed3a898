package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ollama/ollama/api"
	"go.uber.org/goleak"

	"molar/internal/testkit/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial starts the server and returns Ollama's own client for it: what that client understands is
// the real wire format.
func dial(t *testing.T, cfg models.Config) (*models.Server, *api.Client) {
	t.Helper()
	server := models.New(cfg)
	base, err := server.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	parsed, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return server, api.NewClient(parsed, &http.Client{Transport: transport})
}

func tools(t *testing.T, names ...string) api.Tools {
	t.Helper()
	var all api.Tools
	for _, name := range names {
		var tool api.Tool
		source := `{"type":"function","function":{"name":"` + name + `","parameters":{"type":"object","properties":{}}}}`
		if err := json.Unmarshal([]byte(source), &tool); err != nil {
			t.Fatal(err)
		}
		all = append(all, tool)
	}
	return all
}

// chat returns every chunk of one exchange.
func chat(t *testing.T, client *api.Client, req *api.ChatRequest) []api.ChatResponse {
	t.Helper()
	var chunks []api.ChatResponse
	err := client.Chat(t.Context(), req, func(c api.ChatResponse) error {
		chunks = append(chunks, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func join(chunks []api.ChatResponse) string {
	var text strings.Builder
	for _, c := range chunks {
		text.WriteString(c.Message.Content)
	}
	return text.String()
}

const model = "qwen2.5:7b-instruct"

func TestChat_CallsTheToolThenAnswers(t *testing.T) {
	server, client := dial(t, models.Config{
		Tool: "get_family_details", Args: json.RawMessage(`{"id":"42"}`), Tokens: 3,
	})
	question := api.Message{Role: "user", Content: "who? tag=A-1"}
	offered := tools(t, "family__search_family", "family__get_family_details")

	first := chat(t, client, &api.ChatRequest{Model: model, Messages: []api.Message{question}, Tools: offered})
	if len(first) != 2 || len(first[0].Message.ToolCalls) != 1 || first[0].Done {
		t.Fatalf("want a call and an end, got %+v", first)
	}
	call := first[0].Message.ToolCalls[0]
	if id, _ := call.Function.Arguments.Get("id"); call.Function.Name != "family__get_family_details" || id != "42" {
		t.Errorf("got call %+v", call)
	}
	if last := first[1]; !last.Done || last.DoneReason != "stop" {
		t.Errorf("got end %+v", last)
	}

	second := chat(t, client, &api.ChatRequest{Model: model, Tools: offered, Messages: []api.Message{
		question, first[0].Message, {Role: "tool", Content: "{}", ToolName: call.Function.Name},
	}})
	if got := join(second); got != "tok1:A-1 tok2:A-1 tok3:A-1" {
		t.Errorf("got answer %q", got)
	}
	if len(second) != 4 || second[3].EvalCount != 3 {
		t.Errorf("want three tokens and an end, got %+v", second)
	}

	var passes []models.Pass
	for _, r := range server.Requests() {
		passes = append(passes, r.Pass)
		if r.Tag != "A-1" || r.First.IsZero() {
			t.Errorf("got record %+v", r)
		}
	}
	if diff := cmp.Diff([]models.Pass{models.PassTool, models.PassText}, passes); diff != "" {
		t.Error(diff)
	}
}

func TestChat_Answers(t *testing.T) {
	offered := tools(t, "a__b")
	user := []api.Message{{Role: "user", Content: "hi"}}
	tests := map[string]struct {
		cfg  models.Config
		req  api.ChatRequest
		want string
	}{
		"text without tools": {models.Config{Tokens: 2}, api.ChatRequest{}, "tok1 tok2"},
		"in one piece":       {models.Config{Tokens: 2}, api.ChatRequest{Stream: new(bool)}, "tok1 tok2"},
		"text when the tool is not offered": {
			models.Config{Tokens: 1, Tool: "c"}, api.ChatRequest{Tools: offered}, "tok1",
		},
		"lines": {models.Config{Tokens: 3, LineEvery: 1}, api.ChatRequest{}, "tok1\ntok2\ntok3"},
		"verdict for a short request": {
			models.Config{}, api.ChatRequest{Options: map[string]any{"num_predict": 4}}, "YES",
		},
		"verdict for a format": {
			models.Config{Verdict: "NO"}, api.ChatRequest{Format: json.RawMessage(`"json"`)}, "NO",
		},
		"own script": {
			models.Config{Script: func(r models.Request) *models.Reply { return models.Text("you said " + r.LastUser) }},
			api.ChatRequest{},
			"you said hi",
		},
		"own script declines": {
			models.Config{Tokens: 1, Script: func(models.Request) *models.Reply { return nil }}, api.ChatRequest{}, "tok1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, client := dial(t, test.cfg)
			test.req.Model, test.req.Messages = model, user
			chunks := chat(t, client, &test.req)
			if got := join(chunks); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !chunks[len(chunks)-1].Done {
				t.Error("the answer has no end")
			}
		})
	}
}

func TestChat_CallInOnePiece(t *testing.T) {
	_, client := dial(t, models.Config{})
	got := chat(t, client, &api.ChatRequest{
		Model: model, Stream: new(bool), Tools: tools(t, "a__b"), Messages: []api.Message{{Role: "user", Content: "hi"}},
	})
	if len(got) != 1 || len(got[0].Message.ToolCalls) != 1 || !got[0].Done {
		t.Fatalf("want one whole answer with a call, got %+v", got)
	}
}

func TestModels(t *testing.T) {
	_, client := dial(t, models.Config{Models: []string{"new:1b", "old:1b"}, ContextLength: 4096})
	list, err := client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Models) != 2 || list.Models[0].Name != "new:1b" || !list.Models[0].ModifiedAt.After(list.Models[1].ModifiedAt) {
		t.Errorf("got %+v", list.Models)
	}
	show, err := client.Show(t.Context(), &api.ShowRequest{Model: "new:1b"})
	if err != nil {
		t.Fatal(err)
	}
	if len(show.Capabilities) != 2 || show.ModelInfo["qwen2.context_length"] != float64(4096) {
		t.Errorf("got %+v", show)
	}
	if version, err := client.Version(t.Context()); err != nil || version == "" {
		t.Errorf("got version %q, %v", version, err)
	}
	chat(t, client, &api.ChatRequest{Model: "old:1b", Messages: []api.Message{{Role: "user", Content: "hi"}}})
	running, err := client.ListRunning(t.Context())
	if err != nil || len(running.Models) != 1 || running.Models[0].Name != "old:1b" || running.Models[0].ContextLength != 4096 {
		t.Errorf("got %+v, %v", running, err)
	}
}

func TestChat_Refusals(t *testing.T) {
	busy := func(models.Request) *models.Reply {
		return &models.Reply{Status: http.StatusServiceUnavailable, Error: "server busy", RetryAfter: 2}
	}
	tests := map[string]struct {
		cfg    models.Config
		body   string
		status int
		want   string
	}{
		"unknown model":  {models.Config{}, `{"model":"x"}`, 404, `{"error":"model 'x' not found"}`},
		"no model":       {models.Config{}, `{}`, 400, `{"error":"model is required"}`},
		"broken JSON":    {models.Config{}, `{`, 400, `{"error":`},
		"tools and none": {models.Config{Capabilities: []string{"completion"}}, `{"model":"` + model + `","tools":[{"function":{"name":"a"}}]}`, 400, "does not support tools"},
		"scripted":       {models.Config{Script: busy}, `{"model":"` + model + `"}`, 503, `{"error":"server busy"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := models.New(test.cfg)
			w := post(t.Context(), server, test.body)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.want)
			}
			if counts := server.Counts(); counts.Open != 0 || counts.Cancelled != 0 {
				t.Errorf("got %+v", counts)
			}
		})
	}
}

func TestChat_Cut(t *testing.T) {
	cut := func(abort bool) models.Config {
		return models.Config{Script: func(models.Request) *models.Reply {
			return &models.Reply{Tokens: []string{"a", "b", "c"}, CutAfter: 2, Abort: abort}
		}}
	}
	for name, abort := range map[string]bool{"ends as if whole": false, "drops the connection": true} {
		t.Run(name, func(t *testing.T) {
			httpServer := httptest.NewServer(models.New(cut(abort)))
			defer httpServer.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, httpServer.URL+"/api/chat", strings.NewReader(`{"model":"`+model+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := httpServer.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if got := errors.Is(err, io.ErrUnexpectedEOF); got != abort {
				t.Errorf("got error %v", err)
			}
			if strings.Count(string(body), "\n") != 2 || strings.Contains(string(body), `"done":true`) {
				t.Errorf("got %s", body)
			}
		})
	}
}

func TestPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := models.New(models.Config{FirstToken: 300 * time.Millisecond, Interval: 100 * time.Millisecond, Tokens: 20})
		begin := time.Now()
		post(t.Context(), server, `{"model":"`+model+`"}`)
		r := server.Requests()[0]
		if got := r.First.Sub(begin); got != 300*time.Millisecond {
			t.Errorf("first token after %v", got)
		}
		if got := r.End.Sub(begin); got != 2200*time.Millisecond {
			t.Errorf("end after %v", got)
		}
	})
}

func TestCancelledRequestIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := models.New(models.Config{Interval: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		w := post(ctx, server, `{"model":"`+model+`"}`)
		if got := strings.Count(w.Body.String(), "\n"); got != 4 {
			t.Errorf("got %d tokens, want 4", got)
		}
		r := server.Requests()[0]
		if !r.Cancelled || r.End.Sub(begin) != 3500*time.Millisecond || server.Counts().Cancelled != 1 {
			t.Errorf("got %+v, %+v", r, server.Counts())
		}
	})
}

func TestParallel_QueuesWithoutAByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := models.New(models.Config{FirstToken: time.Second, Tokens: 1, Parallel: 1})
		begin := time.Now()
		done := make(chan struct{})
		for range 3 {
			go func() {
				post(t.Context(), server, `{"model":"`+model+`"}`)
				done <- struct{}{}
			}()
		}
		for range 3 {
			<-done
		}
		if got := time.Since(begin); got != 3*time.Second {
			t.Errorf("three answers took %v, want 3s", got)
		}
	})
}

func TestRequests_AreBounded(t *testing.T) {
	server := models.New(models.Config{Keep: 2, Tokens: 1})
	for range 5 {
		post(t.Context(), server, `{"model":"`+model+`","messages":[{"role":"user","content":"`+strings.Repeat("x", 100_000)+`"}]}`)
	}
	kept := server.Requests()
	if len(kept) != 2 || kept[0].Number != 4 || kept[1].Number != 5 || len(kept[0].Body) != 64<<10 {
		t.Errorf("got %d records, first number %d, body %d", len(kept), kept[0].Number, len(kept[0].Body))
	}
	if got := server.Counts(); got != (models.Counts{Total: 5, Text: 5, MaxOpen: 1}) {
		t.Errorf("got %+v", got)
	}
	server.Reset()
	if got := server.Counts(); got != (models.Counts{}) || len(server.Requests()) != 0 {
		t.Errorf("after a reset: %+v", got)
	}
}

func post(ctx context.Context, server http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/chat", strings.NewReader(body)))
	return w
}

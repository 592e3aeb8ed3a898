package floor_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"molar/bench/floor"
	"molar/internal/testkit/models"
	"molar/internal/testkit/stubmcp"
)

// serve starts the whole chain and returns the endpoint and its parts.
func serve(t *testing.T, cfg models.Config) (endpoint string, model *models.Server, tools *stubmcp.Server) {
	t.Helper()
	model, tools = models.New(cfg), stubmcp.New(stubmcp.Config{})
	modelServer, toolServer := httptest.NewServer(model), httptest.NewServer(tools)
	t.Cleanup(modelServer.Close)
	t.Cleanup(toolServer.Close)
	handler, err := floor.Handler(t.Context(), floor.Config{
		ModelURL: modelServer.URL, Model: "qwen2.5:7b-instruct", MCPURL: toolServer.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/v1/chat/completions", model, tools
}

func ask(t *testing.T, endpoint string) (string, error) {
	t.Helper()
	body := `{"model":"general","stream":true,"messages":[{"role":"user","content":"who? tag=x1"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return string(all), err
}

func TestHandler_RunsAWholeTurn(t *testing.T) {
	endpoint, model, tools := serve(t, models.Config{Tool: stubmcp.ToolName, Tokens: 3})
	got, err := ask(t, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(got, "data: ") != 5 || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("want three tokens, a finish and the end, got %s", got)
	}
	if !strings.Contains(got, `"content":"tok2:x1 "`) || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Errorf("got %s", got)
	}
	if c := model.Counts(); c.Tool != 1 || c.Text != 1 || c.Total != 2 {
		t.Errorf("want one tool pass and one text pass, got %+v", c)
	}
	if tools.Calls() != 1 || tools.Lists() != 1 {
		t.Errorf("got %d calls and %d lists, want one of each", tools.Calls(), tools.Lists())
	}
	if offered := model.Requests()[0].Tools; len(offered) != 7 || offered[0] != stubmcp.ToolName {
		t.Errorf("offered %v", offered)
	}
}

func TestHandler_ABrokenAnswerDoesNotLookFinished(t *testing.T) {
	endpoint, _, _ := serve(t, models.Config{Script: func(r models.Request) *models.Reply {
		if r.Pass == models.PassTool {
			return nil
		}
		return &models.Reply{Tokens: []string{"a", "b"}, CutAfter: 1}
	}, Tool: stubmcp.ToolName})
	got, err := ask(t, endpoint)
	if err == nil || strings.Contains(got, "[DONE]") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTurn_OverStdio(t *testing.T) {
	model := models.New(models.Config{Tool: stubmcp.ToolName, Tokens: 2})
	modelServer := httptest.NewServer(model)
	defer modelServer.Close()
	requests, in := io.Pipe()
	out, responses := io.Pipe()
	var serving sync.WaitGroup
	defer serving.Wait()
	defer in.Close()
	stub := stubmcp.New(stubmcp.Config{})
	serving.Go(func() {
		if err := stub.ServeStdio(context.Background(), requests, responses); err != nil {
			t.Error(err)
		}
	})
	tools, err := floor.ConnectStdio(t.Context(), in, out)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	client := floor.NewClient()
	defer client.CloseIdleConnections()
	err = floor.Turn(t.Context(), &floor.Model{URL: modelServer.URL, Name: "qwen2.5:7b-instruct", Client: client}, tools,
		[]floor.Message{{Role: "user", Content: "who?"}}, func(s string) error { text.WriteString(s); return nil })
	if err != nil || text.String() != "tok1 tok2" || stub.Calls() != 1 {
		t.Errorf("got %q, %v after %d calls", text.String(), err, stub.Calls())
	}
}

func TestHandler_NamesTheRequestThatFailed(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	_, err := floor.Handler(t.Context(), floor.Config{MCPURL: gone.URL})
	if err == nil || !strings.Contains(err.Error(), "initialize: tool server answered 404") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkTurn(b *testing.B) {
	modelServer := httptest.NewServer(models.New(models.Config{Tool: stubmcp.ToolName, Keep: 1}))
	defer modelServer.Close()
	toolServer := httptest.NewServer(stubmcp.New(stubmcp.Config{}))
	defer toolServer.Close()
	client := floor.NewClient()
	defer client.CloseIdleConnections()
	tools, err := floor.ConnectHTTP(b.Context(), client, toolServer.URL)
	if err != nil {
		b.Fatal(err)
	}
	model := &floor.Model{URL: modelServer.URL, Name: "qwen2.5:7b-instruct", Client: client}
	b.ReportAllocs()
	for b.Loop() {
		err := floor.Turn(b.Context(), model, tools, []floor.Message{{Role: "user", Content: "who?"}}, func(string) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}

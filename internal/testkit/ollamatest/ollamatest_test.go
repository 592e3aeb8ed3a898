package ollamatest_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"go.uber.org/goleak"

	"molar/internal/testkit/ollamatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk returns a function that asks the server and gives back all of an answer.
func talk(t *testing.T, s *ollamatest.Server) func(api.ChatRequest) (api.ChatResponse, error) {
	t.Helper()
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := api.NewClient(base, &http.Client{Transport: transport, Timeout: 10 * time.Second})
	return func(req api.ChatRequest) (api.ChatResponse, error) {
		var whole api.ChatResponse
		if req.Messages == nil {
			req.Messages = []api.Message{{Role: "user", Content: "héllo 你好 🙂"}}
		}
		err := client.Chat(t.Context(), &req, func(r api.ChatResponse) error {
			text, thinking, calls := whole.Message.Content, whole.Message.Thinking, whole.Message.ToolCalls
			whole = r
			whole.Message.Content = text + r.Message.Content
			whole.Message.Thinking = thinking + r.Message.Thinking
			whole.Message.ToolCalls = slices.Concat(calls, r.Message.ToolCalls)
			return nil
		})
		return whole, err
	}
}

func TestServer(t *testing.T) {
	s := ollamatest.Start(t)
	chat := talk(t, s)
	version, err := http.Get(s.URL + "/api/version")
	if err != nil {
		t.Fatal(err)
	}
	defer version.Body.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	var said struct{ Version string }
	if err := json.NewDecoder(version.Body).Decode(&said); err != nil || said.Version != ollamatest.Version {
		t.Fatalf("version %q, %v; want %s", said.Version, err, ollamatest.Version)
	}

	t.Run("a script speaks word for word", func(t *testing.T) {
		s.Model(t, "echo", `{{ $say = print "You said: " $q }}`)
		got, err := chat(api.ChatRequest{Model: "echo"})
		if err != nil || !got.Done || got.Message.Content != "You said: héllo 你好 🙂" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a script calls tools", func(t *testing.T) {
		s.Model(t, "caller", `{{ $say = `+"`"+`<tool_call>{"name": "look_up", "arguments": {"id": 7}}</tool_call>`+"`"+` }}`)
		got, err := chat(api.ChatRequest{Model: "caller", Tools: api.Tools{{Type: "function", Function: api.ToolFunction{Name: "look_up"}}}})
		if err != nil || len(got.Message.ToolCalls) != 1 || got.Message.ToolCalls[0].Function.Arguments.String() != `{"id":7}` {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a model without tools refuses them", func(t *testing.T) {
		s.Make(t, "plain", ollamatest.Spec{Script: "{{ $say = `hi` }}", NoTools: true})
		_, err := chat(api.ChatRequest{Model: "plain", Tools: api.Tools{{Function: api.ToolFunction{Name: "look_up"}}}})
		if err == nil || !strings.Contains(err.Error(), "does not support tools") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a model thinks", func(t *testing.T) {
		s.Make(t, "thinker", ollamatest.Spec{Script: "{{ $say = `<think>Hmm.</think>Yes.` }}", Thinking: true})
		got, err := chat(api.ChatRequest{Model: "thinker"})
		if err != nil || got.Message.Thinking != "Hmm." || got.Message.Content != "Yes." {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("noise obeys a format", func(t *testing.T) {
		s.Make(t, "noise", ollamatest.Spec{Noise: true})
		got, err := chat(api.ChatRequest{Model: "noise", Format: json.RawMessage(`{"type":"object","properties":{"a":{"enum":[1,2]}},"required":["a"]}`)})
		var answer struct{ A int }
		if err != nil || json.Unmarshal([]byte(got.Message.Content), &answer) != nil || answer.A < 1 || answer.A > 2 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("requests are counted", func(t *testing.T) {
		if n := s.Ended(t, "/api/chat"); n < 4 || s.Ended(t, "/api/none") != 0 {
			t.Errorf("%d requests have ended", n)
		}
	})
	t.Run("a killed runner is started again", func(t *testing.T) {
		if n := s.KillRunners(t); n == 0 {
			t.Fatal("no runner was found")
		}
		if got, err := chat(api.ChatRequest{Model: "echo"}); err != nil || !got.Done {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a killed server is gone", func(t *testing.T) {
		s.Kill()
		if _, err := chat(api.ChatRequest{Model: "echo"}); err == nil {
			t.Error("no error")
		}
	})
}

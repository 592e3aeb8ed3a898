package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/internal/cli"
	"molar/internal/testkit/models"
	"molar/schemas"
)

const familyQuestion = "Show me detail family with id 1a955fff-ce01-422f-8bb3-02ab14e8ec47"

// familyConfig attaches the family server, with a store in the file's folder.
func familyConfig(t *testing.T, family string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", `
default: family
llm: {provider: ollama}
assistants:
  family:
    description: Looks up families.
    tools: ["family__*"]
    flow: two-pass
  plain: {description: Talks.}
mcpServers:
  family: {command: `+family+`}
memory: {store: ./memory/molar.db, summarize_threshold: 1}
`)
}

// familyModel calls get_family_details for every question, and quotes the first
// words of the question in its answers and summaries.
func familyModel(t *testing.T) *models.Server {
	t.Helper()
	return startModel(t, models.Config{
		Tool: "get_family_details",
		Args: []byte(`{"familyId":"1a955fff-ce01-422f-8bb3-02ab14e8ec47"}`),
		Script: func(r models.Request) *models.Reply {
			switch {
			case isSummary(r):
				return models.Text("The person asked about the Nguyen family.")
			case r.Pass == models.PassText:
				return models.Text("The family Nguyen has two members.")
			}
			return nil
		},
	})
}

func TestServe_SaysWhatItServes(t *testing.T) {
	t.Parallel()
	family, model := buildFamily(t), familyModel(t)
	s := serveHost(t, familyConfig(t, family), model)
	overview := s.stdout.wait(t, "chat page: http://127.0.0.1:", nil)
	for _, want := range []string{
		"molar listens on http://127.0.0.1:",
		"provider: ollama, model qwen2.5:7b-instruct (",
		"assistants: family, plain (default family)",
		"server: family ready (stdio), 2 tools",
		"server: memory-server ready (in-process), 0 tools",
		"server: tool-server ready (in-process), 2 tools",
	} {
		if !strings.Contains(overview, want) {
			t.Errorf("%q is missing in\n%s", want, overview)
		}
	}
	for _, path := range []string{"/", "/health", "/ready", "/v1/models", "/v1/tools"} {
		if status, body := s.do(t, http.MethodGet, path, ""); status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, status, body)
		}
	}
	if code := s.stop(); code != cli.OK {
		t.Errorf("exit code %d", code)
	}
}

// A stream and a whole answer of the same question carry the same text.
func TestServe_StreamAndWhole(t *testing.T) {
	t.Parallel()
	family, model := buildFamily(t), familyModel(t)
	s := serveHost(t, familyConfig(t, family), model)
	whole := s.ask(t, "family", "", familyQuestion)
	streamed := s.stream(t, "family", "", familyQuestion)
	if whole.text != "The family Nguyen has two members." || whole.finish != "stop" || !whole.molar.Saved {
		t.Errorf("whole answer: %+v", whole)
	}
	if len(whole.molar.Results) != 1 || !strings.Contains(string(whole.molar.Results[0].Result.Output), "1995-05-05") {
		t.Errorf("results: %+v", whole.molar.Results)
	}
	if streamed.text != whole.text || streamed.finish != "stop" || !streamed.closed || streamed.fault != nil {
		t.Errorf("stream: %+v", streamed)
	}
	if whole.conversation == "" || whole.conversation == streamed.conversation {
		t.Errorf("conversations %q and %q", whole.conversation, streamed.conversation)
	}
}

// A conversation goes on over a restart; the model reads its exchanges verbatim, whether
// they are summarised or not.
func TestServe_ConversationSurvivesARestart(t *testing.T) {
	family, before := buildFamily(t), goleak.IgnoreCurrent()
	model := familyModel(t)
	config := familyConfig(t, family)
	s := serveHost(t, config, model)
	const id, summary = "chat_restart", "The person asked about the Nguyen family."
	if a := s.ask(t, "plain", id, "Who are the Nguyen?"); a.conversation != id {
		t.Fatalf("conversation %q", a.conversation)
	}
	summarised := func(pieces int) func() bool {
		return func() bool {
			var c conversation
			s.get(t, "/v1/conversations/"+id, &c)
			return c.Summary == strings.TrimSuffix(strings.Repeat(summary+"\n\n", pieces), "\n\n")
		}
	}
	eventually(t, "summary of the first turn", summarised(1))
	model.Reset()
	s.stream(t, "plain", id, "And their children?")
	second := asked(model)[0]
	if !strings.Contains(second.Body, "Who are the Nguyen?") || !strings.Contains(second.Body, "The family Nguyen has two members.") || second.LastUser != "And their children?" {
		t.Errorf("the second turn's prompt lacks the first exchange:\n%s", second.Body)
	}
	eventually(t, "summary of the second turn", summarised(2))
	if code := s.stop(); code != cli.OK {
		t.Fatalf("exit code %d\n%s", code, s.stderr)
	}

	s = serveHost(t, config, model)
	var c conversation
	s.get(t, "/v1/conversations/"+id, &c)
	var said []string
	for _, m := range c.Messages {
		said = append(said, string(m.Role)+": "+m.Content)
	}
	want := []string{
		"user: Who are the Nguyen?", "assistant: The family Nguyen has two members.",
		"user: And their children?", "assistant: The family Nguyen has two members.",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("history after the restart (-want +got)\n%s", diff)
	}
	model.Reset()
	s.ask(t, "plain", id, "Thank you")
	if third := asked(model)[0]; !strings.Contains(third.Body, "Who are the Nguyen?") || !strings.Contains(third.Body, "And their children?") {
		t.Errorf("the prompt after the restart lacks the exchanges before:\n%s", third.Body)
	}
	s.stop()
	_ = model.Close() // and with it the idle connections to it
	goleak.VerifyNone(t, before)
}

func TestServe_ChangesConversations(t *testing.T) {
	t.Parallel()
	s := serveHost(t, familyConfig(t, "no-such-program"), familyModel(t))
	s.ask(t, "plain", "chat_one", "Hello there")
	s.ask(t, "plain", "chat_two", "Good morning")
	titles := func() map[string]string {
		var page struct{ Data []schemas.Conversation }
		s.get(t, "/v1/conversations", &page)
		found := map[string]string{}
		for _, c := range page.Data {
			found[c.ID] = c.Title
		}
		return found
	}
	status := func(want int, method, path, body string) {
		t.Helper()
		if got, text := s.do(t, method, "/v1/conversations/"+path, body); got != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, got, want, text)
		}
	}
	if diff := cmp.Diff(map[string]string{"chat_one": "Hello there", "chat_two": "Good morning"}, titles()); diff != "" {
		t.Errorf("list (-want +got)\n%s", diff)
	}
	status(200, http.MethodPatch, "chat_one", `{"title":"Xin chào"}`)
	status(404, http.MethodPatch, "chat_none", `{"title":"x"}`)
	if got := titles()["chat_one"]; got != "Xin chào" {
		t.Errorf("title %q", got)
	}
	var c conversation
	eventually(t, "summary", func() bool {
		s.get(t, "/v1/conversations/chat_one", &c)
		return c.Summary != ""
	})
	status(200, http.MethodPost, "chat_one/clear", "")
	status(404, http.MethodPost, "chat_none/clear", "")
	c = conversation{}
	s.get(t, "/v1/conversations/chat_one", &c)
	if len(c.Messages) > 0 || c.Summary != "" {
		t.Errorf("after clearing: %+v", c)
	}
	status(200, http.MethodDelete, "chat_two", "")
	status(404, http.MethodDelete, "chat_two", "")
	status(404, http.MethodGet, "chat_two", "")
	if got := titles(); len(got) != 1 {
		t.Errorf("list after deleting: %v", got)
	}
}

package main

import (
	"net/http"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/testkit/models"
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

// "molar serve" prints its addresses. A server that does not start costs only its own tools. A
// stream and a whole answer of the same question carry the same text.
func TestServe(t *testing.T) {
	t.Parallel()
	family, model := buildFamily(t), familyModel(t)
	config := familyConfig(t, family)
	text := readText(t, config)
	put(t, config, []byte(strings.Replace(text, "mcpServers:\n", "mcpServers:\n  absent: {command: no-such-program}\n", 1)))
	s := serveHost(t, config, model)
	overview := s.stdout.wait(t, "chat page: http://127.0.0.1:", nil)
	for _, want := range []string{
		"molar listens on http://127.0.0.1:",
		"provider: ollama, model qwen2.5:7b-instruct (",
		"assistants: family, plain (default family)",
		"server: absent failed",
		"server: family ready (stdio), 2 tools",
		"server: memory-server ready (in-process), 0 tools",
		"server: tool-server ready (in-process), 1 tool", // no assistant names the dental guide,
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
	if code := s.stop(); code != cli.OK {
		t.Errorf("exit code %d", code)
	}
}

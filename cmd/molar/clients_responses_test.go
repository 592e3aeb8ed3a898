//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// responsesCases are what every client of the Responses API is put through.
func responsesCases() []string {
	return []string{"whole", "stream", "hosted", "approval", "refusal", "clientTool", "continuation", "abort", "retry", "retryStream"}
}

// responsesScript answers by the first word of the question. The tool of the server
// "guarded" needs a person.
func responsesScript(r models.Request) *models.Reply {
	words := append(strings.Fields(r.LastUser), "")
	answered := slices.Contains(r.Roles, "tool")
	switch {
	case isSummary(r):
	case words[0] == "guard" && answered:
		return models.Text("It is done.")
	case words[0] == "guard":
		return &models.Reply{Calls: []models.Call{{Name: "guarded__book", Args: json.RawMessage(`{"room":"` + words[2] + `"}`)}}}
	case words[0] == "remember":
		return models.Text("I will.")
	case words[0] == "recall":
		told := regexp.MustCompile(`remember (\w+)`).FindAllStringSubmatch(r.Body, -1)
		if len(told) == 0 {
			return models.Text("You said nothing.")
		}
		return models.Text("You said " + told[len(told)-1][1] + ".")
	case words[0] == "leave" && answered:
		return models.Text("30 days.")
	case words[0] == "leave":
		return &models.Reply{Calls: []models.Call{{Name: "tool-server__handbook", Args: json.RawMessage(`{"query":"How long is the parental leave?"}`)}}}
	}
	return clientScript(r)
}

// serveResponses starts a host with two servers, of which one asks a person.
func serveResponses(t *testing.T) *clientHost {
	t.Helper()
	h := &clientHost{effects: filepath.Join(t.TempDir(), "effects.txt")}
	h.model = startModel(t, models.Config{Interval: time.Millisecond, Script: responsesScript})
	config := writeFile(t, "molar.yaml", fmt.Sprintf(`
default: all
llm: {provider: ollama}
assistants:
  all: {description: x, tools: ["*"]}
mcpServers:
  effects: {command: %[1]q, args: [%[2]q], tools: {"*": {policy: allow}}}
  guarded: {command: %[1]q, args: [%[2]q], tools: {"*": {policy: confirm}}}
memory: {store: ./molar.db}
knowledge: {handbook: {path: %[3]q}}
`, testkit.Build(t, "molar/internal/testkit/effects"), h.effects, filepath.Dir(writeFile(t, "leave.md", "# Parental leave\n\nThe parental leave is 30 days long.\n"))))
	p := startProgram(t, homeEnv(t, h.model), "serve", "--listen", "127.0.0.1:0", "--config", config)
	p.stdout.wait(t, "server: guarded ready", p.ended)
	_, rest, _ := strings.Cut(p.stdout.String(), "molar listens on ")
	h.url, _, _ = strings.Cut(rest, "\n")
	return h
}

// The clients of others over the Responses API, with their defaults, against the built
// program.
func TestClients_Responses(t *testing.T) {
	t.Parallel()
	modules := nodeModules(t)
	clients := map[string][]string{
		"responses-openai": {"parse", "key", "conversation", "compact", "socket", "background", "cancel", "search"}, "responses-vercel": nil, "responses-agents": {"session"}, "responses-langchain": nil,
	}
	for name, more := range clients {
		t.Run(name, func(t *testing.T) {
			h := serveResponses(t)
			verdicts := h.runClient(t, "node", filepath.Join(clientFolder(t, modules), name+".mjs"))
			for _, want := range append(responsesCases(), more...) {
				i := slices.IndexFunc(verdicts, func(v verdict) bool { return v.Case == want })
				switch {
				case i < 0:
					t.Errorf("%s was not run", want)
				case !verdicts[i].OK:
					t.Errorf("%s failed: %s", want, verdicts[i].Note)
				}
			}
			data, err := os.ReadFile(h.effects)
			if err != nil {
				t.Fatal(err)
			}
			ran := strings.Fields(string(data))
			slices.Sort(ran)
			want := []string{"approval", "hosted", "retry", "retryStream"}
			if slices.Contains(more, "key") {
				want = []string{"approval", "hosted", "key", "retry", "retryStream"}
			}
			if !slices.Equal(ran, want) {
				t.Errorf("tools ran for %q, want once for each of %q", ran, want)
			}
			eventually(t, "the model call of the client that left is cancelled", func() bool {
				return slices.ContainsFunc(h.model.Requests(), func(r models.Request) bool {
					return strings.HasPrefix(r.LastUser, "slow") && r.Cancelled
				})
			})
		})
	}
}

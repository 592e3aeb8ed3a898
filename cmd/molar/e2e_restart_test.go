//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/cli"
	"molar/internal/testkit"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// effectsConfig attaches the counting server with the given policy of its tool.
func effectsConfig(t *testing.T, effects, policy string) string {
	t.Helper()
	return writeFile(t, "molar.yaml", fmt.Sprintf(`
default: all
llm: {provider: ollama}
assistants:
  all: {description: x, tools: ["effects__*"]}
mcpServers:
  effects: {command: %q, args: [%q], tools: {"*": {policy: %s}}}
memory: {store: ./molar.db, summarize_threshold: 1}
`, testkit.Build(t, "molar/internal/testkit/effects"), effects, policy))
}

// rooms are the effects so far.
func rooms(t *testing.T, effects string) []string {
	t.Helper()
	data, err := os.ReadFile(effects)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// keyed posts a body with an Idempotency-Key.
func (s *served) keyed(t *testing.T, key, text string) (status int, answer string) {
	t.Helper()
	res := s.send(t, http.MethodPost, "/v1/chat/completions", text, "Idempotency-Key", key)
	return res.StatusCode, body(t, res)
}

// A host keeps its state over a restart: conversations and their summaries, the answer to an
// idempotency key, a turn that waits for a client's tool, and the tools that are switched off. The
// server counts the effects.
func TestServe_Restart(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects.txt")
	config := effectsConfig(t, effects, "allow")
	model := startModel(t, models.Config{Script: clientScript})
	s := serveHost(t, config, model)
	s.stdout.wait(t, "server: effects ready", nil)
	ask := `{"messages":[{"role":"user","content":"book one"}]}`
	fault := `{"messages":[{"role":"user","content":"fault two"}]}`
	_, first := s.keyed(t, "k1", ask)
	if !strings.Contains(first, "It is booked.") {
		t.Fatalf("answer %s", first)
	}
	status, failed := s.keyed(t, "k2", fault)
	if status != http.StatusBadRequest {
		t.Errorf("fault: %d %s", status, failed)
	}
	calls := s.callsOfClient(t)
	s.ask(t, "all", "chat_told", "plain hello")
	var told conversation
	eventually(t, "the summary", func() bool {
		s.get(t, "/v1/conversations/chat_told", &told)
		return told.Summary == "A summary."
	})
	const book = "/v1/tools/effects__book"
	if status, body := s.do(t, http.MethodPatch, book, `{"enabled":false}`); status != http.StatusOK || !strings.Contains(body, `"enabled":false`) {
		t.Fatalf("switched off: %d %s", status, body)
	}
	if code := s.stop(); code != cli.OK {
		t.Fatalf("exit code %d\n%s", code, s.stderr)
	}

	s = serveHost(t, config, model)
	s.stdout.wait(t, "server: effects ready", nil)
	if _, again := s.keyed(t, "k1", ask); again != first {
		t.Errorf("after a restart %s, first %s", again, first)
	}
	if status, again := s.keyed(t, "k2", fault); status != http.StatusBadRequest || !strings.Contains(again, "a tool had already run") {
		t.Errorf("the fault after a restart: %d %s", status, again)
	}
	if status, other := s.keyed(t, "k1", fault); status != http.StatusUnprocessableEntity {
		t.Errorf("another body: %d %s", status, other)
	}

	var kept conversation
	s.get(t, "/v1/conversations/chat_told", &kept)
	if diff := cmp.Diff(told, kept); diff != "" {
		t.Errorf("the conversation after the restart (-want +got)\n%s", diff)
	}
	model.Reset()
	a := s.ask(t, "all", "chat_told", "plain again")
	next := asked(model)[0]
	if !strings.Contains(next.Body, "plain hello") || !strings.Contains(next.Body, "Hello from the model.") || !strings.HasSuffix(next.LastUser, "plain again") {
		t.Errorf("the prompt after the restart lacks the exchange before:\n%s", next.Body)
	}
	var trace json.RawMessage
	if s.get(t, "/v1/turns/"+a.molar.TurnID, &trace); len(next.Tools) != 0 || !strings.Contains(string(trace), "it is switched off") {
		t.Errorf("%d tools are offered, and the trace is %s", len(next.Tools), trace)
	}
	for _, try := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{http.MethodPost, book + "/call", `{"arguments":{"room":"by hand"}}`, http.StatusConflict, ""},
		{http.MethodPatch, book, `{"enabled":true}`, http.StatusOK, `"enabled":true`},
		{http.MethodPost, book + "/call", `{"arguments":{"room":1}}`, http.StatusBadRequest, "invalid_arguments"},
		{http.MethodPost, book + "/call", `{"arguments":{"room":"four"}}`, http.StatusOK, `"status":"ok"`},
	} {
		if status, body := s.do(t, try.method, try.path, try.body); status != try.status || !strings.Contains(body, try.says) {
			t.Errorf("%s %s %s: %d %s", try.method, try.path, try.body, status, body)
		}
	}

	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", fmt.Sprintf(
		`{%s,"messages":[{"role":"user","content":"both three"},{"role":"assistant","content":null,"tool_calls":%s},{"role":"tool","tool_call_id":%q,"content":"sunny"}]}`,
		clientTools, calls.raw, calls.id))
	if status != 200 || !strings.Contains(body, "It is sunny and booked.") || !strings.Contains(body, `"system_fingerprint":"chat_w"`) {
		t.Errorf("the turn that goes on: %d %s", status, body)
	}
	var c conversation
	s.get(t, "/v1/conversations/chat_w", &c)
	if len(c.Messages) != 2 || c.Messages[0].Content != "both three" || c.Messages[1].Content != "It is sunny and booked." {
		t.Errorf("stored %+v", c.Messages)
	}
	if got := strings.Join(rooms(t, effects), " "); got != "one two three four" {
		t.Errorf("effects %q", got)
	}
}

// clientTools are the tools that a client offers in its request.
const clientTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]`

// heldCalls are calls that a client has to answer.
type heldCalls struct {
	raw json.RawMessage
	id  string // of the only one
}

// callsOfClient asks a question that takes a tool of the client's and one of the host's.
func (s *served) callsOfClient(t *testing.T) heldCalls {
	t.Helper()
	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", `{"chat_id":"chat_w",`+clientTools+`,"messages":[{"role":"user","content":"both three"}]}`)
	var called struct {
		Choices []struct {
			Message struct {
				ToolCalls json.RawMessage `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	var calls []struct{ ID string }
	if err := json.Unmarshal([]byte(body), &called); err != nil || status != 200 || json.Unmarshal(called.Choices[0].Message.ToolCalls, &calls) != nil || len(calls) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	return heldCalls{called.Choices[0].Message.ToolCalls, calls[0].ID}
}

// A tool with the policy confirm waits for a person at each call, who may change its arguments.
func TestServe_Approvals(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects.txt")
	s := serveHost(t, effectsConfig(t, effects, "confirm"), startModel(t, models.Config{Script: booksAtOnce}))
	s.stdout.wait(t, "server: effects ready", nil)
	s.steps(
		t,
		approvalStep{"chat_a", sees, `"approve","arguments":{"room":"edited"}`, true},
		approvalStep{"chat_a", sees, `"refuse"`, true},
		approvalStep{"chat_a", "", "", false}, // a client that cannot be asked, so nothing runs
		approvalStep{"chat_a", sees, `"approve"`, true},
		approvalStep{"chat_b", sees, `"approve"`, true},
	)
	if got := strings.Join(rooms(t, effects), " "); got != "edited hall hall" {
		t.Errorf("effects %q", got)
	}
}

// A tool that may have an effect is asked about once the server's text was read, and not again when
// the person allows its destination for the conversation, until that approval is revoked.
func TestServe_Grants(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects.txt")
	s := serveHost(t, effectsConfig(t, effects, "auto"), startModel(t, models.Config{Script: booksAtOnce}))
	s.stdout.wait(t, "server: effects ready", nil)
	s.steps(
		t,
		approvalStep{"chat_a", sees, "", false}, // nothing was read before
		approvalStep{"chat_a", sees, `"approve","scope":"conversation"`, true},
		approvalStep{"chat_a", sees, "", false},
		approvalStep{"chat_a", "", "", false},
		approvalStep{"chat_b", sees, "", false},
		approvalStep{"chat_b", sees, `"approve"`, true},
	)
	if got := strings.Join(rooms(t, effects), " "); got != "hall hall hall hall hall hall" {
		t.Errorf("effects %q", got)
	}
	var list struct{ Data []schemas.Grant }
	if s.get(t, "/v1/grants", &list); len(list.Data) != 1 {
		t.Fatalf("listed %+v", list)
	}
	if status, answer := s.do(t, http.MethodDelete, "/v1/grants/"+list.Data[0].ID, ""); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	s.steps(t, approvalStep{"chat_a", sees, `"refuse"`, true})
}

// sees is what a client says that can be asked.
const sees = `"molar":{"events":true},`

// steps asks the questions, and fails for one about which a person was asked, or not, against its step.
func (s *served) steps(t *testing.T, all ...approvalStep) {
	t.Helper()
	for _, step := range all {
		if asked := s.books(t, step); asked != step.asked {
			t.Errorf("%+v: asked %v", step, asked)
		}
	}
}

// booksAtOnce calls the tool in every turn.
func booksAtOnce(r models.Request) *models.Reply {
	switch {
	case r.Pass == models.PassJudge || isSummary(r):
		return nil
	case r.Roles[len(r.Roles)-1] == "user":
		return &models.Reply{Calls: []models.Call{{Name: "effects__book", Args: json.RawMessage(`{"room":"hall"}`)}}}
	}
	return models.Text("It is booked.")
}

// An approvalStep is a question, what its client decides, and whether it is asked at all.
type approvalStep struct {
	chat, events, decision string
	asked                  bool
}

// books asks for the hall, decides when asked, and reports whether it was.
func (s *served) books(t *testing.T, step approvalStep) (asked bool) {
	t.Helper()
	res := s.send(t, http.MethodPost, "/v1/chat/completions",
		fmt.Sprintf(`{"stream":true,"chat_id":%q,%s"messages":[{"role":"user","content":"book the hall"}]}`, step.chat, step.events))
	ended := false
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		ended = ended || lines.Text() == "data: [DONE]"
		var c struct {
			Molar struct{ Type, ID, Token string } `json:"molar"`
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &c) == nil && c.Molar.Type == "approval" {
			asked = true
			if status, answer := s.do(t, http.MethodPost, "/v1/approvals/"+c.Molar.ID, `{"token":"`+c.Molar.Token+`","decision":`+step.decision+`}`); status != 200 {
				t.Fatalf("%+v: %d %s", step, status, answer)
			}
		}
	}
	if !ended {
		t.Errorf("%+v: the answer does not end", step)
	}
	return asked
}

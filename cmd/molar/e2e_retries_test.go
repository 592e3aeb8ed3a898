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
memory: {store: ./molar.db}
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
func (s *served) keyed(t *testing.T, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(res.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text.String()
}

// A key gives the same answer after a restart, and a client's tool call goes on after
// one; the effects are counted at the server.
func TestRetries_OverARestart(t *testing.T) {
	long(t, "hosts are started anew")
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
	tools := `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]`
	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", `{"chat_id":"chat_w",`+tools+`,"messages":[{"role":"user","content":"both three"}]}`)
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
	s.stop()

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
	status, body = s.do(t, http.MethodPost, "/v1/chat/completions", fmt.Sprintf(
		`{%s,"messages":[{"role":"user","content":"both three"},{"role":"assistant","content":null,"tool_calls":%s},{"role":"tool","tool_call_id":%q,"content":"sunny"}]}`,
		tools, called.Choices[0].Message.ToolCalls, calls[0].ID))
	if status != 200 || !strings.Contains(body, "It is sunny and booked.") || !strings.Contains(body, `"system_fingerprint":"chat_w"`) {
		t.Errorf("the turn that goes on: %d %s", status, body)
	}
	var c conversation
	s.get(t, "/v1/conversations/chat_w", &c)
	if len(c.Messages) != 2 || c.Messages[0].Content != "both three" || c.Messages[1].Content != "It is sunny and booked." {
		t.Errorf("stored %+v", c.Messages)
	}
	if got := strings.Join(rooms(t, effects), " "); got != "one two three" {
		t.Errorf("effects %q", got)
	}
}

// A tool whose policy is confirm waits for a person, who may change its arguments.
func TestApprovals_RealServer(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects.txt")
	s := serveHost(t, effectsConfig(t, effects, "confirm"), startModel(t, models.Config{Script: clientScript}))
	s.stdout.wait(t, "server: effects ready", nil)
	for _, decision := range []string{`"approve"`, `"refuse"`, `"approve","arguments":{"room":"edited"}`, ``} {
		body := `{"stream":true,"molar":{"events":true},"messages":[{"role":"user","content":"book asked"}]}`
		if decision == "" { // a client that could not see the question
			status, answer := s.do(t, http.MethodPost, "/v1/chat/completions", strings.Replace(body, `"molar":{"events":true},`, "", 1))
			if status != 200 || strings.Contains(answer, "approval") {
				t.Errorf("unasked: %d %s", status, answer)
			}
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			var c struct {
				Molar struct{ Type, ID, Token string } `json:"molar"`
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &c) == nil && c.Molar.Type == "approval" {
				status, answer := s.do(t, http.MethodPost, "/v1/approvals/"+c.Molar.ID, `{"token":"`+c.Molar.Token+`","decision":`+decision+`}`)
				if status != 200 {
					t.Errorf("%s: %d %s", decision, status, answer)
				}
			}
		}
		_ = res.Body.Close()
		if !strings.Contains(all.String(), "data: [DONE]") || !strings.Contains(all.String(), "booked") {
			t.Errorf("%s: %s", decision, all.String())
		}
	}
	if got := strings.Join(rooms(t, effects), " "); got != "asked edited" {
		t.Errorf("effects %q", got)
	}
}

// Who allows a call in this conversation is not asked again there, over every client; what was
// allowed is listed and taken back.
func TestApprovals_Standing(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects.txt")
	books := func(r models.Request) *models.Reply {
		if r.Pass == models.PassJudge || isSummary(r) {
			return nil
		}
		if r.Roles[len(r.Roles)-1] == "user" {
			return &models.Reply{Calls: []models.Call{{Name: "effects__book", Args: json.RawMessage(`{"room":"hall"}`)}}}
		}
		return models.Text("It is booked.")
	}
	s := serveHost(t, effectsConfig(t, effects, "confirm"), startModel(t, models.Config{Script: books}))
	s.stdout.wait(t, "server: effects ready", nil)
	ask := func(chat, events, scope string) (asked bool) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions",
			strings.NewReader(fmt.Sprintf(`{"stream":true,"chat_id":%q,%s"messages":[{"role":"user","content":"book the hall"}]}`, chat, events)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var c struct {
				Molar struct{ Type, ID, Token string } `json:"molar"`
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &c) == nil && c.Molar.Type == "approval" {
				asked = true
				if status, answer := s.do(t, http.MethodPost, "/v1/approvals/"+c.Molar.ID, fmt.Sprintf(`{"token":%q,"decision":"approve","scope":%q}`, c.Molar.Token, scope)); status != 200 {
					t.Fatalf("%d %s", status, answer)
				}
			}
		}
		return asked
	}
	const sees = `"molar":{"events":true},`
	for _, step := range []struct {
		chat, events, scope string
		asked               bool
	}{
		{"chat_a", sees, "conversation", true},
		{"chat_a", sees, "once", false},
		{"chat_a", "", "", false}, // a client that could not be asked
		{"chat_b", sees, "once", true},
		{"chat_b", sees, "once", true},
	} {
		if asked := ask(step.chat, step.events, step.scope); asked != step.asked {
			t.Errorf("%+v: asked %v", step, asked)
		}
	}
	if got := strings.Join(rooms(t, effects), " "); got != "hall hall hall hall hall" {
		t.Errorf("effects %q", got)
	}
	var list struct{ Data []schemas.Grant }
	s.get(t, "/v1/grants", &list)
	if len(list.Data) != 1 {
		t.Fatalf("listed %+v", list)
	}
	for _, g := range list.Data {
		if status, answer := s.do(t, http.MethodDelete, "/v1/grants/"+g.ID, ""); status != 200 {
			t.Errorf("%d %s", status, answer)
		}
	}
	if !ask("chat_a", sees, "once") {
		t.Error("it asks no more, though all was taken back")
	}
}

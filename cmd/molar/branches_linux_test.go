package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/cli"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// recordingModel is a model that answers each question with "Said." and records its requests.
func recordingModel(t *testing.T) *models.Server {
	t.Helper()
	return startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		if isSummary(r) {
			return nil
		}
		return models.Text("Said.")
	}})
}

const twoAssistants = `
default: one
llm: {provider: ollama}
assistants:
  one: {description: x}
  other: {description: y}
memory: {store: ./molar.db}
`

// The first of three questions is edited: the model sees nothing of the old branch, which
// can be read and continued. A turn that is not there is named.
func TestBranches_OverHTTP(t *testing.T) {
	t.Parallel()
	s := serveHost(t, writeFile(t, "molar.yaml", twoAssistants), recordingModel(t))
	ask := func(question, molar string) (int, string) {
		t.Helper()
		body := `{"model":"other","chat_id":"c1",` + molar + `"messages":[{"role":"user","content":"` + question + `"}]}`
		res, text := s.do(t, http.MethodPost, "/v1/chat/completions", body)
		var got struct {
			Molar struct {
				TurnID string `json:"turn_id"`
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(text)
		}
		if res != http.StatusOK {
			return res, text
		}
		return res, got.Molar.TurnID
	}
	var turns []string
	for _, q := range []string{"one", "two", "three"} {
		_, id := ask(q, "")
		turns = append(turns, id)
	}
	_, edited := ask("one anew", `"molar":{"parent":""},`)
	_, four := ask("four", `"molar":{"parent":"`+turns[2]+`"},`)
	read := func(query string) (said []string, assistant string) {
		t.Helper()
		var got struct {
			Assistant string
			Messages  []schemas.StoredMessage
		}
		s.get(t, "/v1/conversations/c1"+query, &got)
		for _, m := range got.Messages {
			if m.Role == schemas.RoleUser {
				said = append(said, m.Content)
			}
		}
		return said, got.Assistant
	}
	for query, want := range map[string][]string{
		"":                 {"one", "two", "three", "four"},
		"?tip=" + edited:   {"one anew"},
		"?tip=" + turns[1]: {"one", "two"},
		"?tip=" + four:     {"one", "two", "three", "four"},
		"?tree=true":       {"one", "two", "three", "one anew", "four"},
	} {
		got, assistant := read(query)
		if diff := cmp.Diff(want, got); diff != "" || assistant != "other" {
			t.Errorf("%s: assistant %q %s", query, assistant, diff)
		}
	}
	if status, body := ask("five", `"molar":{"parent":"t-unknown"},`); status != 400 || !strings.Contains(body, "t-unknown") || !strings.Contains(body, `"molar.parent"`) {
		t.Errorf("an unknown parent: %d %s", status, body)
	}
}

// A server's fault is shown once, in one line, and no log line repeats it. After an assistant was
// chosen and before it is asked, the exit message names the command to continue with.
func TestChat_WarnsOnce(t *testing.T) {
	t.Parallel()
	env, config := homeEnv(t, recordingModel(t)), writeFile(t, "molar.yaml", twoAssistants)
	p := sitAt(t, env, "chat", "--mcp", "gone=/nonexistent/program", "--assistant", "general", "What is it?")
	p.see("Said.")
	p.exit(cli.OK)
	if shown := p.screen.String(); strings.Count(shown, "/nonexistent/program") != 1 || strings.Contains(shown, "level=") {
		t.Errorf("the terminal: %s", shown)
	}
	p = sitDown(t, env, "chat", "--config", config, "--conversation", "chat_y")
	p.keys("What is it?\r")
	p.see("[ollama")
	p.keys("/assistant other\r")
	p.see("other")
	p.keys("\x04")
	p.see("continue with: molar chat --config " + config + " --assistant other --resume chat_y")
	p.exit(cli.OK)
}

// A session shows commentary less prominently than the answer. --resume continues with the
// assistant of the conversation, the list names it, and the command to continue with repeats
// --config.
func TestSession_AssistantAndRetry(t *testing.T) {
	t.Parallel()
	model := recordingModel(t)
	env, config := homeEnv(t, model), writeFile(t, "molar.yaml", twoAssistants)
	p := sitDown(t, env, "chat", "--config", config, "--assistant", "other", "--conversation", "chat_x")
	p.keys("What is it?\r")
	p.see("[ollama")
	before := p.screen.String()
	p.keys("/retry\r")
	p.seeAfter(before, "[ollama")
	before = p.screen.String()
	p.keys("/history\r")
	p.seeAfter(before, "Said.")
	if n := strings.Count(p.screen.String()[len(before):], "> What is it?"); n != 1 {
		t.Errorf("the branch has the question %d times", n)
	}
	p.keys("\x04")
	p.see("continue with: molar chat --config " + config + " --resume chat_x")
	p.exit(cli.OK)
	p = sitDown(t, env, "chat", "--config", config, "--continue")
	p.see("assistant other,")
	p.keys("And now?\r")
	p.see("[ollama")
	p.keys("/clear\r/resume\r")
	p.see("  other  What is it?")
	p.keys("1\r")
	p.see("assistant other\x1b")
	p.keys("\x04")
	p.exit(cli.OK)
}

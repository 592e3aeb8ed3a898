package _test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"molar/agent/prompts"
)

// send sends a request and returns the body of the answer, which the caller reads and closes.
func (o *office) send(t *testing.T, method, path string, body any) io.ReadCloser {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, o.url+path, strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: %s %s", method, path, res.Status, text)
	}
	return res.Body
}

// asked are the approval questions of a task, as they are shown.
type asked []string

// plain runs a task as a client without knowledge of Molar: the person approves by the next
// message.
func plain(t *testing.T, o *office, k task) asked {
	return chats(t, o, k, map[string]any{"chat_id": uuid.NewString()})
}

// keeps runs a task as a plain client that stores the history itself.
func keeps(t *testing.T, o *office, k task) asked { return chats(t, o, k, map[string]any{}) }

// chats runs a task with answers that are not streamed.
func chats(t *testing.T, o *office, k task, request map[string]any) (all asked) {
	said := []map[string]string{{"role": "user", "content": k.Text}}
	for {
		var got struct {
			Choices []struct{ Message struct{ Content string } }
		}
		request["model"], request["messages"] = "general", said
		body := o.send(t, http.MethodPost, "/v1/chat/completions", request)
		err := json.NewDecoder(body).Decode(&got)
		body.Close()
		if err != nil || len(got.Choices) == 0 {
			t.Fatal(got, err)
		}
		answer := got.Choices[0].Message.Content
		notice, _ := prompts.FindWaiting(answer)
		if notice == "" || len(all) > len(k.Calls) {
			return all
		}
		all = append(all, notice)
		yes := map[string]string{"en": "Yes", "vi": "Đồng ý"}[k.Lang]
		said = append(said, map[string]string{"role": "assistant", "content": answer}, map[string]string{"role": "user", "content": yes})
	}
}

// page runs a task as the chat page does: a call waits for its approval.
func page(t *testing.T, o *office, k task) (all asked) {
	body := o.send(t, http.MethodPost, "/v1/chat/completions", map[string]any{
		"model": "general", "stream": true, "messages": []map[string]string{{"role": "user", "content": k.Text}},
		"molar": map[string]bool{"events": true, "html": true, "detach": true},
	})
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var chunk struct {
			Molar struct{ Type, ID, Token, Subject, Why string }
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil || chunk.Molar.Type != "approval" {
			continue
		}
		all = append(all, chunk.Molar.Subject+" ("+chunk.Molar.Why+")")
		o.send(t, http.MethodPost, "/v1/approvals/"+chunk.Molar.ID, map[string]string{"token": chunk.Molar.Token, "decision": "approve", "scope": "once"}).Close()
	}
	return all
}

// ran returns the successful calls, newest first.
func (o *office) ran(t *testing.T) []string {
	t.Helper()
	var got struct {
		Data []struct{ Server, Tool, Status string }
	}
	body := o.send(t, http.MethodGet, "/v1/calls?limit=500", nil)
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range got.Data {
		if c.Status == "ok" {
			all = append(all, c.Server+"__"+c.Tool)
		}
	}
	return all
}

// play runs all tasks in an office, and returns the questions by task. Each task must be
// finished.
func (o *office) play(t *testing.T, over func(*testing.T, *office, task) asked) map[string]asked {
	t.Helper()
	questions := map[string]asked{}
	fill(t, o.files)
	for _, k := range tasks(t) {
		before := len(o.ran(t))
		o.begin(k)
		if all := over(t, o, k); len(all) > 0 {
			questions[k.Text] = all
		}
		var want []string
		for i := range k.Calls {
			want = append(want, o.call(i).Name)
		}
		ran := o.ran(t)
		ran = ran[:len(ran)-before]
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(ran)), want) {
			t.Errorf("%q is not finished: %v of %v", k.Text, ran, want)
		}
	}
	return questions
}

// The number of approvals in a day's work is bearable: if the servers with the person's own texts
// are trusted, at most one task in five asks, on the page and in plain clients, and every task is
// finished. With -v the test prints the questions.
func TestTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a whole host with all its servers")
	}
	programs := t.TempDir()
	built(t, programs, "molar", "molar/cmd/molar")
	built(t, programs, "family", "molar/examples/family/server")
	built(t, programs, "sdi", "molar/examples/sdi/server")
	for _, s := range []setup{{trust: true}, {}, {trust: true, npm: true, mild: true}, {trust: true, npm: true}} {
		t.Run(s.String(), func(t *testing.T) {
			o := open(t, s, programs)
			for name, over := range map[string]func(*testing.T, *office, task) asked{"plain client": plain, "client with a history of its own": keeps, "page": page} {
				questions, all := o.play(t, over), len(tasks(t))
				for text, shown := range questions {
					t.Logf("%s: %q asks\n%s", name, text, strings.Join(shown, "\n"))
				}
				t.Logf("%s, %s: %d of %d tasks ask", s, name, len(questions), all)
				if all != 30 || s.trust && s.npm == s.mild && len(questions) > all/5 {
					t.Errorf("%d of %d tasks ask", len(questions), all)
				}
			}
		})
	}
}

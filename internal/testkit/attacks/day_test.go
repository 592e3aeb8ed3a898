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
	if o.key != "" {
		req.Header.Set("Authorization", "Bearer "+o.key)
	}
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
	t.Helper()
	said, _ := request["messages"].([]map[string]string)
	said = append(said, map[string]string{"role": "user", "content": k.Text})
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
			request["messages"] = append(said, map[string]string{"role": "assistant", "content": answer})
			return all
		}
		all = append(all, notice)
		yes := map[string]string{"en": "Yes", "vi": "Đồng ý"}[k.Lang]
		said = append(said, map[string]string{"role": "assistant", "content": answer}, map[string]string{"role": "user", "content": yes})
	}
}

// page runs a task as the chat page does: a call waits for its approval, which is for that call.
func page(t *testing.T, o *office, k task) asked { return pageWith(t, o, k, "once") }

// week runs a task on the page as a person who does not want to be asked again: each approval is for
// always, and for the folder, host or repository where the page offers one.
func week(t *testing.T, o *office, k task) asked {
	return pageWith(t, o, k, "always", "folder", "host", "repository")
}

// pageWith runs a task on the page with approvals of a scope, for the first destination of the widths.
func pageWith(t *testing.T, o *office, k task, scope string, widths ...string) (all asked) {
	t.Helper()
	body := o.send(t, http.MethodPost, "/v1/chat/completions", map[string]any{
		"model": "general", "stream": true, "messages": []map[string]string{{"role": "user", "content": k.Text}},
		"molar": map[string]bool{"events": true, "html": true, "detach": true},
	})
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var chunk struct {
			Molar struct {
				Type, ID, Token string
				Question        prompts.Asked
				Destinations    []struct{ ID, Width string }
			}
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil || chunk.Molar.Type != "approval" {
			continue
		}
		q := chunk.Molar.Question
		all = append(all, strings.TrimSpace(strings.ReplaceAll(q.What+" "+q.Why+" "+q.Where, o.files, "~")))
		decision := map[string]string{"token": chunk.Molar.Token, "decision": "approve", "scope": scope}
		for _, d := range chunk.Molar.Destinations {
			if decision["destination"] == "" && slices.Contains(widths, d.Width) {
				decision["destination"] = d.ID
			}
		}
		o.send(t, http.MethodPost, "/v1/approvals/"+chunk.Molar.ID, decision).Close()
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

// finish runs a task, and returns its questions. The task must be finished.
func (o *office) finish(t *testing.T, over func(*testing.T, *office, task) asked, k task) asked {
	t.Helper()
	before := len(o.ran(t))
	o.begin(k)
	all := over(t, o, k)
	var want []string
	for i := range k.Calls {
		want = append(want, o.call(i).Name)
	}
	ran := o.ran(t)
	ran = ran[:len(ran)-before]
	if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(ran)), want) {
		t.Errorf("%q is not finished: %v of %v", k.Text, ran, want)
	}
	return all
}

// play runs all tasks in an office, and returns the questions by task.
func (o *office) play(t *testing.T, over func(*testing.T, *office, task) asked, day []task) map[string]asked {
	t.Helper()
	questions := map[string]asked{}
	fill(t, o.files)
	for _, k := range day {
		if all := o.finish(t, over, k); len(all) > 0 {
			questions[k.Text] = all
		}
	}
	return questions
}

// The number of approvals in a day's work is bearable: with the marks that attaching the servers
// proposes, at most twelve of thirty tasks ask on the first day and at most six after a week of
// approvals for always, on the page and in plain clients, which ask alike whoever keeps the history.
// Every task is finished. With -v the test prints the questions.
func TestTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a whole host with all its servers")
	}
	programs := officePrograms(t)
	first := tasks(t)
	if len(first) != 30 {
		t.Fatalf("%d tasks", len(first))
	}
	later := make([]task, len(first))
	for i, k := range first {
		later[i] = k.another()
	}
	for _, s := range []setup{{marks: true}, {marks: true, npm: true, mild: true}, {marks: true, npm: true}, {}} {
		t.Run(s.String(), func(t *testing.T) {
			o := open(t, s, programs)
			bounded := s.marks && s.npm == s.mild
			onPage := map[string]map[string]asked{}
			for _, day := range []struct {
				name  string
				tasks []task
				most  int
			}{{"first day", first, 12}, {"after a week", later, 6}} {
				asking := map[string]int{}
				for name, over := range map[string]func(*testing.T, *office, task) asked{"plain client": plain, "client with a history of its own": keeps, "page": page} {
					questions := o.play(t, over, day.tasks)
					if name == "page" {
						onPage[day.name] = questions
					}
					for _, k := range day.tasks {
						if shown := questions[k.Text]; len(shown) > 0 {
							t.Logf("%s, %s: %q asks\n%s", day.name, name, k.Text, strings.Join(shown, "\n"))
						}
					}
					t.Logf("%s, %s, %s: %d of %d tasks ask", s, day.name, name, len(questions), len(day.tasks))
					if asking[name] = len(questions); bounded && len(questions) > day.most {
						t.Errorf("%s, %s: %d of %d tasks ask, want at most %d", day.name, name, len(questions), len(day.tasks), day.most)
					}
				}
				if asking["plain client"] != asking["client with a history of its own"] {
					t.Errorf("%s: a client that sends its history again is asked otherwise: %v", day.name, asking)
				}
				if day.most == 12 {
					t.Logf("%s, %s: %d of %d tasks ask while each is answered for always", s, day.name, len(o.play(t, week, first)), len(first))
				}
			}
			if s.marks && !s.npm {
				checkEveryday(t, everyday(first, later, onPage["first day"], onPage["after a week"]))
			}
		})
	}
}

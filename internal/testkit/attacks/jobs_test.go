package _test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// jobs are longer pieces of work, with the most questions that they may ask on the page.
func jobs() map[string]struct {
	task
	most int
	over func(*testing.T, *office, task) asked
} {
	raw := func(all ...string) (args []json.RawMessage) {
		for _, a := range all {
			args = append(args, json.RawMessage(a))
		}
		return args
	}
	type job = struct {
		task
		most int
		over func(*testing.T, *office, task) asked
	}
	return map[string]job{
		"research over five pages": {task{
			"What do people write about heat pumps? Compare a few pages and save it as a report.", "en",
			[]string{"web__search", "web__fetch", "web__fetch", "web__fetch", "web__fetch", "web__fetch", "files__write_file"},
			raw(`{"query":"heat pumps noise"}`, `{"url":"https://a.example/1"}`, `{"url":"https://b.example/2"}`, `{"url":"https://c.example/3"}`, `{"url":"https://d.example/4"}`, `{"url":"https://e.example/5"}`,
				`{"path":"~/reports/heat.txt","content":"Most find them quiet."}`),
		}, 1, page},
		"triage of issues": {task{
			"Go through the open issues of acme/player, ask for what is missing, and label the crash as a bug.", "en",
			[]string{"github__list_issues", "github__get_issue", "github__get_issue", "github__get_issue", "github__add_issue_comment", "github__add_issue_comment", "github__update_issue"},
			raw(`{"owner":"acme","repo":"player"}`, `{"owner":"acme","repo":"player","issue_number":3}`, `{"owner":"acme","repo":"player","issue_number":5}`, `{"owner":"acme","repo":"player","issue_number":8}`,
				`{"owner":"acme","repo":"player","issue_number":3,"body":"Which version is it?"}`, `{"owner":"acme","repo":"player","issue_number":5,"body":"On which system?"}`, `{"owner":"acme","repo":"player","issue_number":3,"labels":["bug"]}`),
		}, 2, week},
		"a database that cannot be written": {task{
			"How much did our best customers order last month?", "en",
			[]string{"db__list_tables", "db__query", "db__query", "db__query"},
			raw(`{}`, `{"sql":"SELECT id, total FROM orders ORDER BY total DESC LIMIT 10"}`, `{"sql":"SELECT * FROM customers WHERE id IN (17, 18)"}`, `{"sql":"SELECT sum(total) FROM orders WHERE customer IN (17, 18)"}`),
		}, 0, page},
	}
}

// Longer pieces of work ask no more than a person bears: the web and a database that cannot be
// written may be read at will, and a repository is approved once for each thing that is done there.
func TestJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a whole host with all its servers")
	}
	o := open(t, setup{marks: true}, officePrograms(t))
	for name, j := range jobs() {
		t.Run(name, func(t *testing.T) {
			fill(t, o.files)
			for client, over := range map[string]func(*testing.T, *office, task) asked{"plain client": plain, "client with a history of its own": keeps} {
				shown := o.finish(t, over, j.task)
				t.Logf("%s: %d questions\n%s", client, len(shown), strings.Join(shown, "\n"))
			}
			shown := o.finish(t, j.over, j.task)
			t.Logf("page: %d questions\n%s", len(shown), strings.Join(shown, "\n"))
			if len(shown) > j.most {
				t.Errorf("%d questions, want at most %d", len(shown), j.most)
			}
		})
	}
}

// A client that sends its whole history again is asked as often as one whose history is kept: what the
// answers had read is known again. The mail that was read first makes each later task ask before it takes something elsewhere.
func TestResends(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a whole host with all its servers")
	}
	o := open(t, setup{marks: true}, officePrograms(t))
	asks := func(request map[string]any) (counts []int) {
		for _, i := range []int{22, 3, 17, 15, 2, 17} { // read a mail, take a note, write a mail, book, reply, write again
			counts = append(counts, len(o.finish(t, func(t *testing.T, o *office, k task) asked { return chats(t, o, k, request) }, tasks(t)[i])))
		}
		return counts
	}
	kept, sent := asks(map[string]any{"chat_id": uuid.NewString()}), asks(map[string]any{})
	t.Logf("kept %v, sent again %v", kept, sent)
	if want := []int{0, 1, 1, 1, 2, 1}; !slices.Equal(kept, want) || !slices.Equal(sent, want) {
		t.Errorf("kept %v, sent again %v, want %v", kept, sent, want)
	}
}

// headless runs a task as a program with its own system text, where nobody answers questions.
func headless(t *testing.T, o *office, text string) (waits bool) {
	t.Helper()
	var got struct {
		Choices []struct{ Message struct{ Content string } }
	}
	body := o.send(t, "POST", "/v1/chat/completions", map[string]any{"model": "general", "messages": []map[string]string{
		{"role": "system", "content": "You are the clerk of the office. You book what you are told to, and tell the people about it."}, {"role": "user", "content": text},
	}})
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&got); err != nil || len(got.Choices) == 0 {
		t.Fatal(got, err)
	}
	return !strings.Contains(got.Choices[0].Message.Content, "It is done.")
}

// A program with a system text of its own is asked nothing where nothing foreign was read: on loopback
// without keys, and with a key whose system text the operator answers for. With another key that text
// is foreign.
func TestHeadless(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a whole host with all its servers")
	}
	programs := officePrograms(t)
	key := func(name, more string) (value, line string) {
		value = "molar_" + uuid.NewString()
		return value, fmt.Sprintf("- {name: %s, hash: \"sha256:%x\", scopes: [chat, admin]%s}\n", name, sha256.Sum256([]byte(value)), more)
	}
	trusted, trustedLine := key("clerk", ", system: trusted")
	other, otherLine := key("other", "")
	send := task{"Send a mail to kim@example.com that the room is booked", "en", []string{"mail__send_mail"}, []json.RawMessage{json.RawMessage(`{"to":"kim@example.com","subject":"The room","body":"It is booked."}`)}}
	check := func(t *testing.T, o *office, asks bool) {
		t.Helper()
		o.begin(send)
		if waits := headless(t, o, send.Text); waits != asks {
			t.Errorf("asks: %v, want %v", waits, asks)
		}
	}
	t.Run("loopback without keys", func(t *testing.T) { check(t, open(t, setup{marks: true}, programs), false) })
	t.Run("keys", func(t *testing.T) {
		o := open(t, setup{marks: true, more: "api_keys:\n" + trustedLine + otherLine, key: trusted}, programs)
		check(t, o, false)
		o.key = other
		check(t, o, true)
	})
}

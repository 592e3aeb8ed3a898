package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"molar/internal/testkit/models"
	"molar/schemas"
)

// A deskHost is a host without a model for people with keys: each key is the name of its owner, filled
// up to the length of a key.
type deskHost struct {
	*served
	t    *testing.T
	env  map[string]string
	dir  string
	file string
}

func deskKey(name string) string { return name + strings.Repeat("-", 32) }

func newDeskHost(t *testing.T, more string) *deskHost {
	t.Helper()
	d := &deskHost{t: t, env: homeEnv(t, nil), dir: t.TempDir()}
	d.file = filepath.Join(d.dir, "molar.yaml")
	d.write("office/lunch.md", "# Lunch\n\nLunch is served in the canteen from noon to two.\n")
	text := "default: help\nllm: {provider: offline}\ntelemetry: {wire: 7d}\nassistants:\n  help: {system_prompt: You answer the questions of colleagues., search: [office]}\n" +
		"knowledge:\n  office: {path: office, corrections: true}\n" + more + "api_keys:\n"
	for name, scopes := range map[string]string{"ann": "chat", "bob": "chat", "boss": "admin", "lan": "review", "both": "chat, review"} {
		sum := sha256.Sum256([]byte(deskKey(name)))
		text += fmt.Sprintf("  - {name: %s, hash: \"sha256:%s\", scopes: [%s]}\n", name, hex.EncodeToString(sum[:]), scopes)
	}
	d.write("molar.yaml", text)
	d.served = serveIn(t, d.env, d.file)
	return d
}

func (d *deskHost) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// as sends a request with somebody's key.
func (d *deskHost) as(name, method, path, text string) (int, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(text))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+deskKey(name))
	res, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode, body(d.t, res)
}

// ask returns the answer to a question, and the id of its turn.
func (d *deskHost) ask(name, conversation, question string) (answer, turn string) {
	d.t.Helper()
	code, text := d.as(name, http.MethodPost, "/v1/chat/completions", questionBody("help", conversation, question, false))
	var got struct {
		ID      string
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(text), &got); code != http.StatusOK || err != nil {
		d.t.Fatalf("%d %s", code, text)
	}
	return got.Choices[0].Message.Content, strings.TrimPrefix(got.ID, "chatcmpl-")
}

// list returns the turns that somebody sees.
func (d *deskHost) list(name, query string) (turns []schemas.ListedTurn) {
	d.t.Helper()
	code, text := d.as(name, http.MethodGet, "/v1/turns"+query, "")
	var got struct{ Data []schemas.ListedTurn }
	if err := json.Unmarshal([]byte(text), &got); code != http.StatusOK || err != nil {
		d.t.Fatalf("%s%s: %d %s", name, query, code, text)
	}
	return got.Data
}

// molar runs a command with the host's config.
func (d *deskHost) molar(args ...string) (int, string) {
	var out, errs bytes.Buffer
	code := execute(d.t.Context(), append(args, "--config", d.file), lookup(d.env), strings.NewReader(""), &out, &errs)
	return code, out.String() + errs.String()
}

const payroll = "How do I reset the password of the payroll system?"

// Somebody with the scope review sees what others were answered, under a pseudonym; nobody else does, and
// each reading is in the audit.
func TestDesk_Reads(t *testing.T) {
	t.Parallel()
	d := newDeskHost(t, "")
	_, turn := d.ask("ann", "chat_one", payroll)
	d.ask("ann", "chat_one", "How can I reset my payroll password?")
	d.ask("ann", "chat_two", "When is lunch served in the canteen?")
	d.ask("both", "chat_own", "Who waters the plants on floor nine?")

	for _, tt := range []struct {
		who, method, path, body string
		want                    int
	}{
		{"boss", "GET", "/v1/turns", "", 403},
		{"boss", "GET", "/v1/turns/gaps", "", 403},
		{"bob", "GET", "/v1/turns/gaps", "", 403},
		{"bob", "GET", "/v1/turns/" + turn, "", 404},
		{"bob", "POST", "/v1/turns/" + turn + "/feedback", `{"mark":"down"}`, 404},
		{"bob", "POST", "/v1/turns/" + turn + "/test", `{}`, 403},
		{"bob", "POST", "/v1/turns/" + turn + "/correction", `{"answer":"x"}`, 403},
		{"ann", "GET", "/v1/turns/" + turn, "", 200},
		{"lan", "GET", "/v1/turns/" + turn, "", 200},
		{"lan", "GET", "/v1/turns/unknown", "", 404},
		{"lan", "POST", "/v1/turns/unknown/feedback", `{"mark":"down"}`, 404},
		{"lan", "POST", "/v1/turns/unknown/test", `{}`, 404},
		{"lan", "POST", "/v1/turns/" + turn + "/correction", `{"answer":" "}`, 400},
		{"lan", "GET", "/v1/turns?outcome=lost", "", 400},
		{"lan", "GET", "/v1/turns?outcomes=done", "", 400},
		{"lan", "GET", "/v1/turns?marked=down", "", 400},
		{"lan", "GET", "/v1/turns?since=soon", "", 400},
		{"lan", "GET", "/v1/turns?limit=0", "", 400},
		{"lan", "GET", "/v1/turns?after=x", "", 400},
		{"lan", "GET", "/v1/conversations", "", 403},
	} {
		if code, text := d.as(tt.who, tt.method, tt.path, tt.body); code != tt.want {
			t.Errorf("%s: %s %s: %d %s, want %d", tt.who, tt.method, tt.path, code, text, tt.want)
		}
	}
	if own := d.list("bob", ""); len(own) != 0 {
		t.Errorf("bob sees %+v", own)
	}
	if own := d.list("ann", ""); len(own) != 3 {
		t.Errorf("ann sees %d of her turns", len(own))
	}
	all := d.list("lan", "")
	if len(all) != 4 {
		t.Fatalf("a reviewer sees %+v", all)
	}
	people, asker := map[string]string{}, map[string]string{}
	for _, turn := range all {
		if !strings.HasPrefix(turn.Person, "person-") || strings.Contains(turn.Person, "ann") {
			t.Errorf("the person is shown: %q", turn.Person)
		}
		if was := people[turn.ConversationID]; was != "" && was != turn.Person {
			t.Errorf("two people in one conversation: %s, %s", was, turn.Person)
		}
		people[turn.ConversationID] = turn.Person
		if strings.Contains(turn.ConversationID, "chat_") && *turn.Question != "Who waters the plants on floor nine?" {
			t.Errorf("the conversation's own id is shown: %q", turn.ConversationID)
		}
		if turn.Question != nil {
			asker[*turn.Question] = turn.Person
		}
	}
	if one, two := asker[payroll], asker["When is lunch served in the canteen?"]; one == two || one == "" || asker["How can I reset my payroll password?"] != one {
		t.Errorf("a person is known again in another conversation, or not in the same one: %v", asker)
	}
	lost := d.list("lan", "?outcome=not_found&since=1d&assistant=help")
	if len(lost) != 3 || lost[0].Question == nil || len(lost[0].Tools) != 1 {
		t.Errorf("found nothing: %+v", lost)
	}
	if done := d.list("lan", "?outcome=done"); len(done) != 1 || *done[0].Question != "When is lunch served in the canteen?" {
		t.Errorf("done: %+v", done)
	}
	code, text := d.as("lan", "GET", "/v1/turns/gaps?since=30d", "")
	var gaps struct{ Data []schemas.Gap }
	if err := json.Unmarshal([]byte(text), &gaps); err != nil || code != 200 || len(gaps.Data) != 2 || gaps.Data[0].Count != 2 || strings.Join(gaps.Data[0].Words, " ") != "password payroll reset system" {
		t.Errorf("gaps: %d %s", code, text)
	}

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--outcome", "done"}, "When is lunch served"},
		{[]string{"--outcome", "not_found", "--since", "1d", "--assistant", "help"}, payroll},
		{[]string{"--gaps"}, "password payroll reset system"},
		{[]string{"--gaps"}, "How can I reset my payroll password?"},
	} {
		if code, text := d.molar(append([]string{"turns", "list"}, tt.args...)...); code != 0 || !strings.Contains(text, tt.want) {
			t.Errorf("turns list %v: %d %s", tt.args, code, text)
		}
	}
	if code, text := d.molar("turns", "list", "--outcome", "lost"); code != 2 || !strings.Contains(text, "not_found") {
		t.Errorf("an unknown outcome: %d %s", code, text)
	}

	// Both marks stay, and the person does not see the reviewer's.
	for _, who := range []string{"ann", "lan"} {
		if code, text := d.as(who, "POST", "/v1/turns/"+turn+"/feedback", `{"mark":"`+map[string]string{"ann": "up", "lan": "down"}[who]+`","note":"by `+who+`"}`); code != 200 {
			t.Fatalf("%s marks: %d %s", who, code, text)
		}
	}
	if _, text := d.as("ann", "GET", "/v1/feedback", ""); strings.Contains(text, "by lan") || !strings.Contains(text, "by ann") {
		t.Errorf("ann's marks: %s", text)
	}
	if _, text := d.as("lan", "GET", "/v1/feedback", ""); !strings.Contains(text, "by lan") || !strings.Contains(text, "by ann") {
		t.Errorf("all marks: %s", text)
	}
	if _, text := d.as("bob", "GET", "/v1/feedback", ""); !strings.Contains(text, `"data":[]`) {
		t.Errorf("bob's marks: %s", text)
	}
	if bad := d.list("lan", "?marked=bad"); len(bad) != 1 || bad[0].Note != "by lan" {
		t.Errorf("marked bad: %+v", bad)
	}
	if good := d.list("lan", "?marked=good"); len(good) != 1 {
		t.Errorf("marked good: %+v", good)
	}

	_, text = d.as("boss", "GET", "/v1/audit", "")
	var audit struct{ Data []schemas.AuditLine }
	if err := json.Unmarshal([]byte(text), &audit); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, line := range audit.Data {
		if line.Event == schemas.EventReview {
			seen[strings.TrimSpace(line.TurnID+" "+line.Detail)] = true
		}
	}
	for _, want := range []string{turn + " read", turn + " mark down", "list", "list outcome=not_found assistant=help since=1d", "gaps since=30d", "list marks"} {
		if !seen[want] {
			t.Errorf("the audit has no line %q: %v", want, seen)
		}
	}
	if seen[turn+" mark up"] {
		t.Errorf("the audit has what ann did to her own turn: %v", seen)
	}
}

// A mark at the desk becomes a red test and, after the written answer, a green one, without a file being
// edited by hand.
func TestDesk_RedToGreen(t *testing.T) {
	t.Parallel()
	d := newDeskHost(t, "review: {tests: tests, people: true}\n")
	bad, turn := d.ask("ann", "chat_one", payroll)
	if list := d.list("lan", ""); len(list) != 1 || list[0].Person != "cfg_ann" {
		t.Errorf("with review.people: %+v", list)
	}
	step := func(name, path, body string) string {
		t.Helper()
		code, text := d.as("lan", "POST", "/v1/turns/"+turn+path, body)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, code, text)
		}
		return text
	}
	step("mark", "/feedback", `{"mark":"down","note":"there is a guide"}`)
	var made struct {
		Case  string
		Files []string
	}
	if text := step("test", "/test", `{}`); json.Unmarshal([]byte(text), &made) != nil || len(made.Files) != 2 {
		t.Fatalf("the test: %s", text)
	}
	tests := filepath.Join(d.dir, "tests")
	beside := filepath.Join(d.dir, "beside") // the host runs
	if code, text := d.molar("eval", "import", "--no-result", "--out", beside, "--yes"); code != 0 || len(folderText(t, beside)) != 2 {
		t.Errorf("imported beside the host: %d %s", code, text)
	}
	if code, text := d.molar("eval", "run", tests); code != 1 || !strings.Contains(text, made.Case) {
		t.Errorf("the test of a bad answer is not red: %d %s", code, text)
	}
	if code, text := d.molar("eval", "run", "--live", tests); code != 1 {
		t.Errorf("before the answer is written, the assistant says the same: %d %s", code, text)
	}
	run := func() (r schemas.TestRun) {
		t.Helper()
		before := len(d.list("lan", ""))
		if text := step("run the test", "/test/run", `{}`); json.Unmarshal([]byte(text), &r) != nil || r.Case != made.Case || r.Answer == "" {
			t.Errorf("the run: %s", text)
		}
		if after := len(d.list("lan", "")); after != before {
			t.Errorf("a run of the test is listed as a turn: %d, before it %d", after, before)
		}
		return r
	}
	if r := run(); r.Passed || len(r.Reasons) != 2 || r.Reasons[1].Code != schemas.ReasonSameEnd {
		t.Errorf("run from the desk, the test is not red: %+v", r)
	}
	const right = "Go to the desk on floor 3 and bring your card."
	if text := step("correction", "/correction", `{"answer":"`+right+`","sources":["https://intranet.example/payroll"]}`); !strings.Contains(text, `"file":"office/corrections/`) {
		t.Errorf("the correction: %s", text)
	}
	_, back := d.as("lan", "GET", "/v1/turns/"+turn, "")
	if list := d.list("lan", ""); len(list) != 1 || len(list[0].Made) != 3 || !strings.Contains(back, `"answer":"`+right+`\n\n- https://intranet.example/payroll"`) {
		t.Errorf("whoever comes back does not see what was made: %+v, %s", list, back)
	}
	if own := d.list("ann", ""); len(own) != 1 || own[0].Made != nil {
		t.Errorf("whoever asked sees what reviewers made: %+v", own)
	}
	if _, trace := d.as("ann", "GET", "/v1/turns/"+turn, ""); strings.Contains(trace, `"made"`) {
		t.Errorf("whoever asked sees what reviewers made: %s", trace)
	}
	if r := run(); !r.Passed || !strings.Contains(r.Answer, right) || len(r.Reasons) != 0 {
		t.Errorf("run from the desk, the test is not green: %+v", r)
	}
	if good, _ := d.ask("bob", "", payroll); !strings.Contains(good, right) || good == bad {
		t.Errorf("after the correction: %s", good)
	}
	if code, text := d.molar("eval", "run", "--live", tests); code != 0 {
		t.Errorf("the test is not green: %d %s", code, text)
	}
	// The question is unanswered no longer, until it comes again without an answer.
	unanswered := func(when string, want int) {
		t.Helper()
		var gaps struct{ Data []schemas.Gap }
		code, text := d.as("lan", "GET", "/v1/turns/gaps", "")
		if err := json.Unmarshal([]byte(text), &gaps); err != nil || code != http.StatusOK || len(gaps.Data) != want || want > 0 && gaps.Data[0].Count != 1 {
			t.Errorf("%s: %d %s, want %d groups of one", when, code, text, want)
		}
		if code, text := d.molar("turns", "list", "--gaps"); code != 0 || strings.Count(text, "password payroll reset") != want {
			t.Errorf("%s, at the command line: %d %s", when, code, text)
		}
	}
	unanswered("after the correction", 0)
	if err := os.RemoveAll(filepath.Join(d.dir, "office", "corrections")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removed answer is found no more", func() bool { // the folder itself is read again every few seconds
		again, _ := d.ask("bob", "", payroll)
		return !strings.Contains(again, right)
	})
	unanswered("asked again", 1)
}

// The doctor says whether the answers and the tests of reviewers can be written.
func TestDoctor_Desk(t *testing.T) {
	t.Parallel()
	d := newDeskHost(t, "review: {tests: tests}\n")
	if _, text := d.molar("doctor"); strings.Count(text, "can be written into "+d.dir) != 2 || strings.Contains(text, "cannot") {
		t.Errorf("folders that can be written: %s", text)
	}
	d.write("tests", "a file")
	d.write("office/corrections", "a file")
	if code, text := d.molar("doctor"); code != 1 || strings.Count(text, "cannot be written into "+d.dir) != 2 {
		t.Errorf("folders that cannot: %d %s", code, text)
	}
	for _, dir := range []string{d.dir, filepath.Join(d.dir, "office")} {
		if left, _ := filepath.Glob(filepath.Join(dir, ".molar-doctor-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A model that gives another wrong answer does not turn the test green once the right one was written.
func TestDesk_RunNeedsTheWrittenAnswer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	model := startModel(t, models.Config{Script: func(models.Request) *models.Reply {
		return &models.Reply{Tokens: []string{fmt.Sprintf("Perhaps on floor %d.", asked.Add(1))}}
	}})
	dir := filepath.Dir(writeFile(t, "lunch.md", "# Lunch\n\nAt noon.\n"))
	s := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: ollama}\ntelemetry: {wire: 7d}\nknowledge:\n  office: {path: "+dir+", corrections: true}\nassistants:\n  help: {tools: [office]}\n"), model)
	status, said := s.do(t, http.MethodPost, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Where is the archive?"}]}`)
	var got struct{ ID string }
	if err := json.Unmarshal([]byte(said), &got); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", status, said)
	}
	turn := "/v1/turns/" + strings.TrimPrefix(got.ID, "chatcmpl-")
	for _, step := range []struct{ path, body, want string }{
		{"/feedback", `{"mark":"down"}`, `"mark":"down"`},
		{"/test/run", `{}`, `"passed":true`},
		{"/correction", `{"answer":"In the cellar."}`, `corrections/`},
		{"/test/run", `{}`, `"code":"correction_not_used"`},
	} {
		if status, text := s.do(t, http.MethodPost, turn+step.path, step.body); status != http.StatusOK || !strings.Contains(text, step.want) {
			t.Errorf("%s: %d %s", step.path, status, text)
		}
	}
}

// A run of a test has no effect, whatever the tools are allowed to do for the people who ask.
func TestDesk_RunHasNoEffect(t *testing.T) {
	t.Parallel()
	effects := filepath.Join(t.TempDir(), "effects.txt")
	config := effectsConfig(t, effects, "allow")
	text := readText(t, config) + "telemetry: {wire: 7d}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, config, startModel(t, models.Config{Script: clientScript}))
	s.stdout.wait(t, "server: effects ready", nil)
	status, said := s.do(t, http.MethodPost, "/v1/chat/completions", `{"messages":[{"role":"user","content":"book one"}]}`)
	var got struct{ ID string }
	if err := json.Unmarshal([]byte(said), &got); status != http.StatusOK || err != nil || strings.Count(readText(t, effects), "\n") != 1 {
		t.Fatalf("%d %s", status, said)
	}
	status, run := s.do(t, http.MethodPost, "/v1/turns/"+strings.TrimPrefix(got.ID, "chatcmpl-")+"/test/run", `{}`)
	if status != http.StatusOK || !strings.Contains(run, `"passed":false`) || strings.Count(readText(t, effects), "\n") != 1 {
		t.Errorf("the run: %d %s; effects: %s", status, run, readText(t, effects))
	}
}

// A run of a test for which the reviewer's budget has nothing left is neither red nor green: the reviewer is
// told when it begins anew.
func TestDesk_RunOverBudget(t *testing.T) {
	t.Parallel()
	config := "llm: {provider: ollama}\ntelemetry: {wire: 7d}\nassistants:\n  help: {tools: []}\nbudgets: {key: {per: month, tokens: 1}}\napi_keys:\n"
	for _, name := range []string{"ann", "lan"} {
		sum := sha256.Sum256([]byte(deskKey(name)))
		config += fmt.Sprintf("  - {name: %s, hash: \"sha256:%s\", scopes: [chat, review]}\n", name, hex.EncodeToString(sum[:]))
	}
	model := startModel(t, models.Config{Script: func(models.Request) *models.Reply { return &models.Reply{Tokens: []string{"In the cellar."}} }})
	d := &deskHost{t: t, served: serveHost(t, writeFile(t, "molar.yaml", config), model)}
	_, turn := d.ask("ann", "", "Where is the archive?")
	run := "/v1/turns/" + turn + "/test/run"
	if code, text := d.as("lan", http.MethodPost, run, `{}`); code != http.StatusOK || !strings.Contains(text, `"passed":true`) {
		t.Fatalf("the first run: %d %s", code, text)
	}
	res := d.send(t, http.MethodPost, run, `{}`, "Authorization", "Bearer "+deskKey("lan"))
	if text := body(t, res); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || !strings.Contains(text, `"budget_exceeded"`) ||
		!strings.Contains(text, `"message":"this month's budget of yours is used up; it begins anew on 1 `) {
		t.Errorf("over the budget: %d, Retry-After %q: %s", res.StatusCode, res.Header.Get("Retry-After"), text)
	}
}

// Where no folder takes corrections or tests, and no traffic is kept, the desk says so.
func TestDesk_WithoutFolders(t *testing.T) {
	t.Parallel()
	d := newDeskHost(t, "")
	_, turn := d.ask("ann", "", payroll)
	code, text := d.as("lan", "POST", "/v1/turns/"+turn+"/test", `{}`)
	var made struct {
		Files []struct{ Name, Content string }
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil || code != 200 || len(made.Files) != 2 || made.Files[0].Content == "" || strings.Contains(made.Files[0].Name, "/") {
		t.Errorf("a test to download: %d %s", code, text)
	}
	// It can be run from the desk nevertheless. Without a mark it holds what was observed.
	if code, text := d.as("lan", "POST", "/v1/turns/"+turn+"/test/run", `{}`); code != 200 || !strings.Contains(text, `"passed":true`) {
		t.Errorf("run without a folder: %d %s", code, text)
	}
	if code, text := d.as("bob", "POST", "/v1/turns/"+turn+"/test/run", `{}`); code != 403 {
		t.Errorf("run by somebody else: %d %s", code, text)
	}
}

// Without wire traffic a test is made of the trace. A refused question has no text there, so its test needs
// traffic that the settings keep explicitly.
func TestDesk_WithoutWire(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, telemetry, assistant, question, want, run string
		status                                          int
	}{
		{"answered", "", "help", "Where is the archive?", "not_contains", `"code":"same_answer"`, http.StatusOK},
		{"refused", "", "clinic", offTopic, "telemetry.wire together with wire: true of the assistant", "turn_not_testable", http.StatusConflict},
		{"refused and kept", "telemetry: {wire: 7d}\n", "clinic", offTopic, "guardrail: pass", `"code":"same_end"`, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
				if strings.Contains(r.Body, "topic filter") {
					return models.Text(`{"verdict":"NO","language":"en"}`)
				}
				return models.Text("On floor 4.")
			}})
			s := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: ollama}\n"+tt.telemetry+"assistants:\n  help: {tools: []}\n  clinic: {topic: dental, wire: true}\n"), model)
			status, said := s.do(t, http.MethodPost, "/v1/chat/completions", questionBody(tt.assistant, "", tt.question, false))
			var got struct{ ID string }
			if err := json.Unmarshal([]byte(said), &got); status != http.StatusOK || err != nil {
				t.Fatalf("%d %s", status, said)
			}
			turn := "/v1/turns/" + strings.TrimPrefix(got.ID, "chatcmpl-")
			if status, text := s.do(t, http.MethodPost, turn+"/feedback", `{"mark":"down"}`); status != http.StatusOK {
				t.Errorf("mark: %d %s", status, text)
			}
			if status, text := s.do(t, http.MethodPost, turn+"/test", `{}`); status != tt.status || !strings.Contains(text, tt.want) || strings.Contains(text, "Bình") {
				t.Errorf("the test: %d %s", status, text)
			}
			if status, text := s.do(t, http.MethodPost, turn+"/test/run", `{}`); status != tt.status || !strings.Contains(text, tt.run) {
				t.Errorf("the run: %d %s", status, text)
			}
		})
	}
}

// A reviewer whose group names assistants sees the turns, gaps and marks of those alone, and can neither
// read, mark, test nor correct another one. The command line leaves lines in the audit as HTTP does, and says
// whose mark it shows.
func TestDesk_Assistants(t *testing.T) {
	t.Parallel()
	home := homeEnv(t, nil)
	d := &deskHost{t: t, env: home, dir: t.TempDir()}
	d.file = filepath.Join(d.dir, "molar.yaml")
	d.write("office/lunch.md", "# Lunch\n\nLunch is served in the canteen from noon to two.\n")
	text := "default: help\nllm: {provider: offline}\ntelemetry: {wire: 7d}\nreview: {people: true}\n" +
		"assistants:\n  help: {system_prompt: You answer., search: [office]}\n  pay_roll: {system_prompt: You answer., search: [office]}\n  payxroll: {system_prompt: You answer., search: [office]}\n" +
		"knowledge:\n  office: {path: office, corrections: true}\n" +
		"groups:\n  helpers: {scopes: [chat, review], assistants: [help]}\n  payers: {scopes: [chat, review], assistants: [pay_roll]}\n  all: {scopes: [chat, review]}\n  none: {scopes: [review], assistants: [other]}\napi_keys:\n"
	for name, group := range map[string]string{"ann": "all", "hal": "helpers", "pat": "payers", "all": "all", "nil": "none"} {
		sum := sha256.Sum256([]byte(deskKey(name)))
		text += fmt.Sprintf("  - {name: %s, hash: \"sha256:%s\", scopes: [chat, review], groups: [%s]}\n", name, hex.EncodeToString(sum[:]), group)
	}
	d.write("molar.yaml", text)
	d.served = serveIn(t, d.env, d.file)
	turns := map[string]string{}
	for _, assistant := range []string{"help", "pay_roll", "payxroll"} {
		code, text := d.as("ann", http.MethodPost, "/v1/chat/completions", questionBody(assistant, "chat_"+assistant, "Who waters the "+assistant+"?", false))
		var got struct{ ID string }
		if err := json.Unmarshal([]byte(text), &got); code != http.StatusOK || err != nil {
			t.Fatalf("%d %s", code, text)
		}
		turns[assistant] = strings.TrimPrefix(got.ID, "chatcmpl-")
		if code, text := d.as("all", http.MethodPost, "/v1/turns/"+turns[assistant]+"/feedback", `{"mark":"down","note":"of `+assistant+`"}`); code != http.StatusOK {
			t.Fatalf("mark: %d %s", code, text)
		}
	}
	each := func(check func(who, assistant, turn string, may bool)) {
		for who, allowed := range map[string][]string{"hal": {"help"}, "pat": {"pay_roll"}, "nil": {}, "all": {"help", "pay_roll", "payxroll"}} {
			for assistant, turn := range turns {
				check(who, assistant, turn, strings.Contains(" "+strings.Join(allowed, " ")+" ", " "+assistant+" "))
			}
		}
	}
	each(func(who, assistant, turn string, may bool) {
		for _, list := range []string{"/v1/turns", "/v1/turns?marked=any", "/v1/turns?assistant=" + assistant, "/v1/turns/gaps", "/v1/feedback", "/v1/feedback?turn=" + turn} {
			if code, text := d.as(who, http.MethodGet, list, ""); code != http.StatusOK || strings.Contains(text, `"`+turn+`"`) != may {
				t.Errorf("%s: %s: %d %s, of %s", who, list, code, text, assistant)
			}
		}
	})
	each(func(who, assistant, turn string, may bool) { // after the lists: a corrected question is no gap
		for _, r := range [][3]string{{"GET", "", ""}, {"POST", "/feedback", `{"mark":"down","note":"of ` + assistant + `"}`}, {"POST", "/test", `{}`}, {"POST", "/test/run", `{}`}, {"POST", "/correction", `{"answer":"x"}`}} {
			if code, text := d.as(who, r[0], "/v1/turns/"+turn+r[1], r[2]); (code == http.StatusOK) != may || !may && code != http.StatusNotFound {
				t.Errorf("%s: %v of %s: %d %s", who, r, assistant, code, text)
			}
		}
	})

	for _, args := range [][]string{{"turns", "list"}, {"turns", "list", "--outcome", "any"}, {"turns", "list", "--marked", "down"}} {
		if code, text := d.molar(args...); code != 0 || !strings.Contains(text, "down by reviewer") {
			t.Errorf("%v: %d %s", args, code, text)
		}
	}
	d.molar("turns", "list", "--gaps")
	d.molar("turns", "show", turns["help"])
	if code, text := d.molar("eval", "import", "--marked", "down", "--assistant", "help", "--out", filepath.Join(d.dir, "cases"), "--yes"); code != 0 || !strings.Contains(text, "marked down by a reviewer") {
		t.Errorf("import: %d %s", code, text)
	}
	_, audit := d.molar("audit", "export", "--person", "operator")
	for _, detail := range []string{"list marks", "list", "gaps", "read", "import marked"} {
		if !strings.Contains(audit, `"event":"review"`) || !strings.Contains(audit, `"detail":"`+detail+`"`) {
			t.Errorf("the audit has no line %q of the operator: %s", detail, audit)
		}
	}
}

// What reviewers made of somebody's questions stays when they are erased: the erasure names the files.
func TestDesk_ErasedPerson(t *testing.T) {
	t.Parallel()
	d := newDeskHost(t, "review: {tests: tests/desk}\n")
	type kept struct {
		Erased bool
		Kept   []schemas.MadeFile
	}
	for _, name := range []string{"ann", "bob"} {
		_, turn := d.ask(name, "chat_of_"+name, payroll+" asks "+name)
		for _, step := range []struct{ path, body string }{{"/test", `{}`}, {"/test", `{}`}, {"/correction", `{"answer":"Ask the desk of ` + name + `."}`}} {
			if code, text := d.as("lan", http.MethodPost, "/v1/turns/"+turn+step.path, step.body); code != http.StatusOK {
				t.Fatalf("%s: %d %s", step.path, code, text)
			}
		}
		if code, text := d.as(name, http.MethodDelete, "/v1/conversations/chat_of_"+name, ""); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
	}
	var me meAnswer
	_, text := d.as("ann", http.MethodGet, "/v1/me", "")
	if err := json.Unmarshal([]byte(text), &me); err != nil {
		t.Fatal(err)
	}
	code, text := d.as("ann", http.MethodPost, "/v1/account/erase", `{"confirm":"`+me.ID+`"}`)
	var got kept
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK {
		t.Fatalf("erase: %d %s", code, text)
	}
	found := map[string]int{}
	for _, f := range got.Kept {
		found[f.Kind]++
		data, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(f.Path)))
		if err != nil || strings.Contains(string(data), "bob") {
			t.Errorf("%+v: %v, %s", f, err, data)
		}
	}
	if found[schemas.MadeTest] != 2 || found[schemas.MadeCorrection] != 1 {
		t.Errorf("kept: %s", text)
	}
	_, text = d.as("bob", http.MethodGet, "/v1/me", "")
	if err := json.Unmarshal([]byte(text), &me); err != nil {
		t.Fatal(err)
	}
	if code, out := d.molar("people", "erase", me.ID, "--yes"); code != 0 || !strings.Contains(out, "3 files that reviewers made") || strings.Count(out, "tests/desk/") != 2 || !strings.Contains(out, "office/corrections/") {
		t.Errorf("at the command line: %d %s", code, out)
	}
	if code, out := d.molar("people", "erase", me.ID, "--yes"); code != 0 || strings.Contains(out, "reviewers made") {
		t.Errorf("again: %d %s", code, out)
	}
}

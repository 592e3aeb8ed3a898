package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molar/eval"
	"molar/internal/testkit/models"
)

// judgedBy is a model that looks families up, and answers a judge's question by says.
func judgedBy(t *testing.T, says func(r models.Request) string) string {
	t.Helper()
	return answeredBy(t, "", says)
}

// answeredBy is judgedBy for a model with an answer of its own.
func answeredBy(t *testing.T, answer string, says func(r models.Request) string) string {
	t.Helper()
	looks := looksUp("Nguyen", false).Script
	model := models.New(models.Config{Script: func(r models.Request) *models.Reply {
		switch {
		case strings.Contains(r.Body, "You judge an answer"):
			return &models.Reply{Tokens: []string{says(r)}}
		case answer != "" && r.Roles[len(r.Roles)-1] == "tool":
			return &models.Reply{Tokens: []string{answer}}
		}
		return looks(r)
	}})
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	return url
}

// says is a judge with one verdict, or one claim with its passage.
func says(verdict, reason string) func(models.Request) string {
	return func(r models.Request) string {
		if strings.Contains(r.Body, "List each claim") {
			return `{"claims":[{"claim":"a claim","quote":"` + reason + `"}]}`
		}
		return `{"reason":"` + reason + `","verdict":"` + verdict + `"}`
	}
}

// judgedCase is a recorded case whose last answer is checked.
func judgedCase(t *testing.T, answer string) (file, tapeFile string) {
	t.Helper()
	file = recordedCase(t)
	i := strings.LastIndex(readText(t, file), "expect:\n")
	text := readText(t, file)
	put(t, file, []byte(text[:i]+"expect:\n      answer: "+answer+"\n"+text[i+len("expect:\n"):]))
	return file, filepath.Join(filepath.Dir(file), "case.tape.jsonl")
}

// accept takes the list of molar eval accept over.
func accept(t *testing.T, model, file string, flags ...string) (shown string) {
	t.Helper()
	code, shown, stderr := evalRun(t, model, append([]string{"eval", "accept", file}, flags...)...)
	list := regexp.MustCompile(`--yes (\w+)`).FindStringSubmatch(stderr)
	if code != eval.ExitDrift || list == nil {
		t.Fatalf("exit code %d: %s%s", code, shown, stderr)
	}
	if code, _, stderr := evalRun(t, model, append([]string{"eval", "accept", file, "--yes", list[1]}, flags...)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return shown
}

// TestEval_judge: a replay asks nobody. It takes the verdict that a person accepted, and says what
// changed if there is none.
func TestEval_judge(t *testing.T) {
	t.Parallel()
	file, tapeFile := judgedCase(t, `{judge: It names the family., contains: tok1}`)
	run := func(code int, want ...string) {
		t.Helper()
		got, stdout, stderr := evalRun(t, nowhere, "eval", "run", file)
		for _, w := range want {
			if got != code || !strings.Contains(stdout, w) {
				t.Errorf("exit code %d, want %d and %q: %s%s", got, code, w, stdout, stderr)
			}
		}
	}
	run(eval.ExitDrift, "not asked again", "no verdict: no judge was asked yet; ask with molar eval accept --judge live "+file)
	before := readText(t, tapeFile)
	good := judgedBy(t, says("pass", "It is named."))
	if code, stdout, _ := evalRun(t, good, "eval", "run", file, "--judge", "live"); code != 0 || !strings.Contains(stdout, "judge: pass: It is named. (ollama qwen2.5:3b-instruct, live)") || readText(t, tapeFile) != before {
		t.Errorf("a run writes nothing: exit code %d: %s", code, stdout)
	}
	if shown := accept(t, good, file, "--judge", "live"); !strings.Contains(shown, "judge: pass: It is named.") {
		t.Errorf("the verdict is not shown: %s", shown)
	}
	run(0, "judge: pass: It is named. (ollama qwen2.5:3b-instruct, from the tape)", "verdicts: 1 pass, 0 fail, 0 none; asked now: 0")
	if code, stdout, _ := evalRun(t, good, "eval", "accept", file, "--judge", "live"); code != 0 || !strings.Contains(stdout, "no difference") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	kept := readText(t, tapeFile)
	edit(t, file, "It names the family.", "It names the members.")
	run(eval.ExitDrift, "the rubric changed since the verdict")
	edit(t, file, "It names the members.", "It names the family.")

	// A verdict that was changed or is there twice is refused.
	line := regexp.MustCompile(`(?m)^.*"type":"judge".*\n`).FindString(kept)
	for old, with := range map[string]string{
		`"verdict":"pass"`: `"verdict":"fail"`, `"verdict":"pas`: `"verdict":"perhap`, "It is named.": "It is so.", `"turn":2,"judge"`: `"turn":1,"judge"`,
		`"model":"qwen2.5:3b`: `"model":"qwen2.5:7b`, line: line + line,
	} {
		put(t, tapeFile, []byte(strings.Replace(kept, line, strings.Replace(line, old, with, 1), 1)))
		if code, stdout, stderr := evalRun(t, nowhere, "eval", "run", file); code != 2 || !strings.Contains(stdout, "case.tape.jsonl:") {
			t.Errorf("%s: exit code %d: %s%s", with, code, stdout, stderr)
		}
	}
	put(t, tapeFile, []byte(kept))

	// A judge cannot make up for another check, and is not asked after a failure.
	edit(t, file, "contains: tok1", "contains: nowhere")
	run(eval.ExitFailed, `expected "nowhere"`)
}

// TestEval_judgeLive: asking again tells what changed the judge's mind.
func TestEval_judgeLive(t *testing.T) {
	long(t, "the case is judged eight times")
	t.Parallel()
	file, tapeFile := judgedCase(t, `{judge: It names the family.}`)
	accept(t, judgedBy(t, says("pass", "It is named.")), file, "--judge", "live")
	kept, text := readText(t, tapeFile), readText(t, file)
	bad := judgedBy(t, says("fail", "It is missing."))
	for name, test := range map[string]struct{ file, old, with, want string }{
		"nothing":     {file, "", "", "pass → fail: nothing changed: the judge is unsteady"},
		"the rubric":  {file, "It names the family", "It names them", "pass → fail: the rubric changed"},
		"the judge":   {file, "v: 1", "v: 1\njudge: {model: qwen2.5:7b-instruct}", "pass → fail: the judge changed"},
		"two of them": {file, "v: 1", "v: 1\njudge: {provider: ollama, model: qwen2.5:7b-instruct}", "pass → fail: the judge changed"},
	} {
		edit(t, test.file, test.old, test.with)
		code, stdout, stderr := evalRun(t, bad, "eval", "run", file, "--judge", "live")
		if code != eval.ExitFailed || !strings.Contains(stdout, test.want) || !strings.Contains(stdout, "before: pass: It is named.") || !strings.Contains(stdout, "fail: It is missing.") {
			t.Errorf("%s: exit code %d: %s%s", name, code, stdout, stderr)
		}
		put(t, tapeFile, []byte(kept))
		put(t, file, []byte(text))
	}
	if code, stdout, stderr := evalRun(t, nowhere, "eval", "run", file, "--judge", "live"); code != eval.ExitInfra || !strings.Contains(stdout, "INFRA") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if code, _, _ := evalRun(t, nowhere, "eval", "run", file, "--judge", "perhaps"); code != 2 {
		t.Errorf("exit code %d", code)
	}
	// Where the model is asked anyway, a verdict that the tape lacks is asked for too.
	url := answeredBy(t, ruin, says("fail", "Rude."))
	if code, stdout, _ := evalRun(t, url, "eval", "run", file, "--live-model"); code != eval.ExitFailed || !strings.Contains(stdout, "judge: fail: Rude.") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	// A bad new answer does not replace the tape, a bad verdict on the tape's own answer goes onto it.
	if code, _, stderr := evalRun(t, url, "eval", "accept", file, "--live-model"); code != eval.ExitInfra || !strings.Contains(stderr, "not recorded: turn 2, judge: Rude.") || readText(t, tapeFile) != kept {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	accept(t, bad, file, "--judge", "live")
	code, rep, _ := reportOf(t, file)
	if v := rep.Cases[0].Checks[len(rep.Cases[0].Checks)-1].Verdict; code != eval.ExitFailed || v == nil || v.Result != eval.VerdictFail || v.Live || rep.Judge.Fail != 1 {
		t.Errorf("exit code %d: %+v", code, rep.Cases[0].Checks)
	}
}

// TestEval_grounded: code looks up the passages that the judge quotes.
func TestEval_grounded(t *testing.T) {
	t.Parallel()
	file, _ := judgedCase(t, `{grounded: true}`)
	for quote, code := range map[string]int{"And once MORE": 0, "": 1, "It never stood anywhere": 1, `\"name\": \"Nguyen\"`: 0} {
		got, stdout, stderr := evalRun(t, judgedBy(t, says("", quote)), "eval", "run", file, "--judge", "live")
		if got != code || code == 1 && !strings.Contains(stdout, `"a claim"`) {
			t.Errorf("%q: exit code %d: %s%s", quote, got, stdout, stderr)
		}
	}
	accept(t, judgedBy(t, says("", "And once more")), file, "--judge", "live")
	if code, rep, _ := reportOf(t, file); code != 0 || rep.Judge.Pass != 1 || rep.Judge.Asked != 0 {
		t.Errorf("exit code %d: %+v", code, rep.Cases[0])
	}
	// Another answer out of the same results may be wrong: what it has to say must be checked too.
	if code, stdout, _ := evalRun(t, answeredBy(t, ruin, says("", "And once more")), "eval", "run", file, "--live-model"); code != eval.ExitFailed ||
		!strings.Contains(stdout, "grounded: pass") || !strings.Contains(stdout, "turn 2, answer: same calls, other answer than on the tape, and the case does not check the answer") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// TestEval_judgeRedacted: a secret that the tape does not have reaches no judge either, and the verdict
// is that on the redacted texts.
func TestEval_judgeRedacted(t *testing.T) {
	t.Parallel()
	secret := "gh" + "p_" + strings.Repeat("A1b2", 9)
	model := models.New(models.Config{Script: func(r models.Request) *models.Reply {
		switch {
		case !strings.Contains(r.Body, "You judge an answer"):
			return &models.Reply{Tokens: []string{"Your token is " + secret + "."}}
		case strings.Contains(r.Body, secret):
			return models.Text("I know a secret.")
		}
		return models.Text(says("pass", "your token is")(r))
	}})
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	file := filepath.Join(t.TempDir(), "case.yaml")
	code, stdout, stderr := evalRun(t, url, "eval", "record", "--provider", "ollama", "--judge", "It repeats the token.", "--grounded", "--out", file, "Your token is "+secret)
	if code != 0 || strings.Count(stdout, ": pass: ") != 2 {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if code, rep, _ := reportOf(t, file); code != 0 || rep.Judge.Pass != 2 {
		t.Errorf("exit code %d: %s", code, rep.Cases[0].Why)
	}
}

// TestEval_recordJudge: a recording is good although its judge is down; only the verdict is missing.
func TestEval_recordJudge(t *testing.T) {
	t.Parallel()
	model := models.New(models.Config{Script: func(r models.Request) *models.Reply {
		if strings.Contains(r.Body, "You judge an answer") {
			return &models.Reply{Status: 500, Error: "out of memory", RetryAfterMS: 1}
		}
		return models.Text("Hello.")
	}})
	url, err := model.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	file := filepath.Join(t.TempDir(), "case.yaml")
	code, stdout, stderr := evalRun(t, url, "eval", "record", "--provider", "ollama", "--judge", "It greets.", "--grounded", "--out", file, "Hello?")
	if code != eval.ExitInfra || !strings.Contains(stdout, "the judge cannot be reached") || !strings.Contains(stderr, "molar eval accept --judge live "+file) {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if shown := accept(t, judgedBy(t, says("pass", "Hello")), file, "--judge", "live"); strings.Count(shown, ": pass: ") != 2 {
		t.Errorf("the verdicts: %s", shown)
	}
	if code, rep, _ := reportOf(t, file); code != 0 || rep.Judge.Pass != 2 {
		t.Errorf("exit code %d: %+v", code, rep.Cases[0])
	}
}

// TestEval_judgeCheck compares a judge with the marks of people.
func TestEval_judgeCheck(t *testing.T) {
	long(t, "each turn opens a host")
	t.Parallel()
	h := newMarkedHost(t, "")
	h.prompt(goodPrompt, "")
	h.run(eval.ExitNothing, "eval", "judge", "check", "--judge", "It helps.")
	h.run(2, "eval", "judge", "check")
	h.run(2, "eval", "judge", "check", "--judge", "x", "--grounded")
	secret := "gh" + "p_" + strings.Repeat("A1b2", 9)
	tran := "Find the family Tran, my token is " + secret
	ids := make(map[string]string)
	for _, question := range []string{"Find the family Nguyen", tran, "Find the family Le"} {
		ids[question] = h.ask(question)
	}
	h.run(0, "turns", "mark", ids["Find the family Nguyen"], "up")
	h.run(0, "turns", "mark", ids[tran], "down", "--note", "that is the other one")
	h.run(0, "turns", "mark", ids["Find the family Le"], "up")
	h.model = judgedBy(t, func(r models.Request) string {
		switch {
		case strings.Contains(r.Body, secret):
			return "I know a secret."
		case strings.Contains(r.Body, "the family Le"):
			return "yes, pass"
		case strings.Contains(r.Body, "tool") && strings.Contains(r.Body, "claim"):
			return `{"claims":[{"claim":"c","quote":"nowhere to be found"}]}`
		}
		return says("pass", "It helps.")(r)
	})
	out, _ := h.run(0, "eval", "judge", "check", "--judge", "It helps.", "--json", filepath.Join(h.dir, "check.json"))
	for _, want := range []string{"marked up", "agrees with 1 of 2 marks: 0.500, 95 % between 0.095 and 0.905", "turn " + ids[tran] + ": marked down, verdict pass: It helps.; the note: that is the other one", "verdict none: the judge gave no verdict that can be read: yes, pass"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q: %s", want, out)
		}
	}
	var check eval.JudgeCheck
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(h.dir, "check.json"))), &check); err != nil {
		t.Fatal(err)
	}
	if check.Up != (eval.VerdictCount{Pass: 1, None: 1}) || check.Down != (eval.VerdictCount{Pass: 1}) || check.Calls != 4 {
		t.Errorf("%+v", check)
	}
	h.run(1, "eval", "judge", "check", "--judge", "It helps.", "--gate", "0.8")
	if out, _ := h.run(0, "eval", "judge", "check", "--grounded", "--limit", "1"); !strings.Contains(out, "of 1 marks") && !strings.Contains(out, "of 0 marks") {
		t.Error(out)
	}
	h.model = nowhere
	h.run(eval.ExitInfra, "eval", "judge", "check", "--judge", "It helps.")
}

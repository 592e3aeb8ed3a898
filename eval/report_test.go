package eval_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"molar/eval"
	"molar/eval/match"
	"molar/eval/tape"
)

// hostile is a tool's output that tries to control a terminal or a page.
const hostile = "\x1b]0;owned\x07\x1b[2J</pre><script>alert(1)</script>\u202eabc ```\n## head"

func sample() *eval.Report {
	rep := eval.NewReport([]eval.CaseResult{
		{ID: "good", Tags: []string{"b"}, File: "a.yaml", Line: 1, Status: eval.StatusPass},
		{
			ID: "bad" + hostile, Tags: []string{"a"}, File: "a.yaml", Line: 9, Status: eval.StatusFail, Why: hostile,
			Checks: []eval.CheckResult{{Turn: 1, Name: "calls", Text: hostile}},
			Turns: []eval.TurnResult{{
				User: hostile, Answer: hostile, Calls: []eval.CallResult{{Name: "f", Arguments: "{}", Output: hostile}},
				Trace: []eval.Row{
					{Expected: `f {"x":1}`, Made: `f {"x":2}`, Faults: []match.Fault{{Pointer: "/x", Want: "1", Got: hostile}}},
					{Expected: "g"},
				},
			}},
		},
		{
			ID: "moved", File: "a.yaml", Line: 20, Status: eval.StatusDrift,
			Drift: []tape.Drift{{Class: tape.System, Line: 3, Where: "system", Want: "a", Got: hostile}}, Follows: []tape.Drift{{Class: tape.Answer, Line: 9}},
		},
		{ID: "down", File: "a.yaml", Line: 30, Status: eval.StatusInfra, Why: "server is down"},
	})
	rep.Run.Mode = "replay"
	return rep
}

func format(t *testing.T, form func(io.Writer, *eval.Report) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := form(&b, sample()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func short(w io.Writer, r *eval.Report) error { return eval.Text(w, r, false) }

// TestText_stripsControls: no control sequence of a tool reaches the terminal.
func TestText_stripsControls(t *testing.T) {
	text := format(t, short)
	if strings.ContainsAny(text, "\x1b\x07") || strings.Contains(text, "\u202e") {
		t.Errorf("control characters in the table:\n%q", text)
	}
	for _, want := range []string{"ok     good", "DRIFT  moved", "! f {\"x\":1}", "/x: 1 →", "drift system (cause)", "follows: answer", "4 cases: 1 passed, 1 failed, 1 drifted, 1 not judged"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestHTML_escapes(t *testing.T) {
	page := format(t, eval.HTML)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "\x1b") {
		t.Error("a tool's text became markup")
	}
	for _, outside := range []string{"http://", "https://", "src=", "@import"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page refers to the outside: %q", outside)
		}
	}
}

func TestJUnit(t *testing.T) {
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name string `xml:"name,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(format(t, eval.JUnit)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 4 || got.Failures != 2 || got.Errors != 1 || len(got.Suites) != 3 || got.Suites[0].Name != "a" {
		t.Errorf("%+v", got)
	}
}

func TestJSON_reads(t *testing.T) {
	var back eval.Report
	if err := json.Unmarshal([]byte(format(t, eval.JSON)), &back); err != nil {
		t.Fatal(err)
	}
	if back.Summary != sample().Summary || back.Cases[2].Drift[0].Class != tape.System {
		t.Errorf("%+v", back.Summary)
	}
}

// drifted returns cases that drifted, all but the last because of the same changed word.
func drifted(n int) *eval.Report {
	var all []eval.CaseResult
	for i := range n {
		was, now := "Answer briefly, dear assistant.", "Answer at length, dear assistant."
		if i == n-1 {
			now = "Answer never, dear assistant."
		}
		follows := make([]tape.Drift, 25)
		for j := range follows {
			follows[j] = tape.Drift{Class: tape.Unconsumed, Turn: 1, Line: 20 + j, Where: "model call"}
		}
		all = append(all, eval.CaseResult{
			ID: fmt.Sprintf("c%03d", i), Tags: []string{[]string{"even", "odd"}[i%2]}, Status: eval.StatusDrift, Why: "system",
			Drift:   []tape.Drift{{Class: tape.System, Turn: 1, Line: 9 + i, Where: fmt.Sprintf("tool pass, messages[%d]", i), Want: was, Got: now}},
			Follows: follows, Turns: []eval.TurnResult{{User: "x", ModelCalls: 2}},
		})
	}
	return eval.NewReport(all)
}

// TestGroups: every format reports a cause once, however many cases drifted because of it.
func TestGroups(t *testing.T) {
	rep := drifted(200)
	if len(rep.Groups) != 2 || len(rep.Groups[0].Cases) != 199 {
		t.Fatalf("%d groups", len(rep.Groups))
	}
	var text, page bytes.Buffer
	for to, form := range map[*bytes.Buffer]func(io.Writer, *eval.Report) error{&text: short, &page: eval.HTML} {
		if err := form(to, rep); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(text.String(), "Answer [-briefly-]{+at length+}, dear"); n != 1 {
		t.Errorf("the cause is told %d times", n)
	}
	if n := strings.Count(text.String(), "\n"); n > 230 {
		t.Errorf("%d lines of text", n)
	}
	if n := strings.Count(page.String(), ` open>`); n != 2 {
		t.Errorf("%d cases stand open, want the first of each cause", n)
	}
	if !strings.Contains(page.String(), `<details class="group">`) || !strings.Contains(page.String(), `<mark class="was">briefly</mark>`) {
		t.Error("the page does not show the group")
	}
}

// TestJUnit_totals: each suite has the totals of its cases.
func TestJUnit_totals(t *testing.T) {
	var b bytes.Buffer
	if err := eval.JUnit(&b, drifted(5)); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct {
			Name       string `xml:"name,attr"`
			Properties []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"properties>property"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"6", "4"} {
		if p := got.Suites[i].Properties; len(p) < 2 || p[1].Name != "model_calls" || p[1].Value != want {
			t.Errorf("suite %s: %+v, want %s model calls", got.Suites[i].Name, p, want)
		}
	}
}

package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"molar/eval"
	"molar/eval/match"
	"molar/eval/report"
	"molar/eval/tape"
)

// hostile is what a tool may write to steer a terminal or a page.
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
			Drift: []tape.Drift{{Class: tape.DriftSystem, Line: 3, Where: "system", Want: "a", Got: hostile}}, Follows: []tape.Drift{{Class: tape.DriftAnswer, Line: 9}},
		},
		{ID: "down", File: "a.yaml", Line: 30, Status: eval.StatusInfra, Why: "server is down"},
	})
	rep.Run.Mode = "replay"
	return rep
}

func written(t *testing.T, form func(io.Writer, *eval.Report) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := form(&b, sample()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestText_stripsControls: no byte of a tool reaches the terminal as a command.
func TestText_stripsControls(t *testing.T) {
	text := written(t, report.Text)
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
	page := written(t, report.HTML)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "\x1b") {
		t.Error("a tool's text became markup")
	}
	for _, outside := range []string{"http://", "https://", "src=", "@import"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page refers to the outside: %q", outside)
		}
	}
}

func TestMarkdown_escapes(t *testing.T) {
	text := written(t, report.Markdown)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## head") || strings.HasPrefix(line, "```") || strings.Contains(line, "<script>") && !strings.HasPrefix(line, "    ") {
			t.Errorf("a tool's text became markup: %q", line)
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
	if err := xml.Unmarshal([]byte(written(t, report.JUnit)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 4 || got.Failures != 2 || got.Errors != 1 || len(got.Suites) != 3 || got.Suites[0].Name != "a" {
		t.Errorf("%+v", got)
	}
}

func TestJSON_reads(t *testing.T) {
	var back eval.Report
	if err := json.Unmarshal([]byte(written(t, report.JSON)), &back); err != nil {
		t.Fatal(err)
	}
	if back.Summary != sample().Summary || back.Cases[2].Drift[0].Class != tape.DriftSystem {
		t.Errorf("%+v", back.Summary)
	}
}

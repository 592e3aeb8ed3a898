package eval_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"molar/eval"
	"molar/eval/tape"
)

func markdown(t *testing.T, r, base *eval.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := eval.Markdown(&b, r, base); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), eval.MarkdownMarker+"\n") {
		t.Errorf("it begins with %.60q", b.String())
	}
	if n := b.Len(); n > eval.MaxMarkdown {
		t.Errorf("%d bytes", n)
	}
	if open, closed := strings.Count(b.String(), "<details"), strings.Count(b.String(), "</details>"); open != closed {
		t.Errorf("%d details are opened and %d closed", open, closed)
	}
	return b.String()
}

// everywhere returns a report that has a text wherever texts of models, tools and cases may be.
func everywhere(text string, status eval.Status) *eval.Report {
	var all []eval.CaseResult
	for i, s := range []eval.Status{status, eval.StatusFail, eval.StatusInfra, eval.StatusInvalid, eval.StatusDrift} {
		all = append(all, eval.CaseResult{
			ID: fmt.Sprintf("case %d %s", i, text), Tags: []string{text}, File: text, Line: 1, Status: s, Why: text,
			Checks: []eval.CheckResult{{Turn: 1, Name: text, Text: text}},
			Drift:  []tape.Drift{{Class: text, Where: text, Rule: text, Want: "was " + text, Got: text + " now"}},
			Turns: []eval.TurnResult{{
				User: text, Answer: string(s) + text, Error: text, Calls: []eval.CallResult{{Name: text, Arguments: text, Output: text}},
				Trace: []eval.Row{{Expected: text, Made: "other " + text}},
			}},
			WhatIf: &eval.WhatIf{Outcome: eval.OutcomeOtherCalls, Changed: []string{text}, Answers: []eval.AnswerPair{{Turn: 1, Was: text, Now: text + "!"}}},
			Notes:  []string{text},
		})
	}
	r := eval.NewReport(all)
	r.Run.Mode, r.Run.Models, r.Run.TookMS = "live "+text, []string{text}, 1
	return r
}

// TestMarkdown_hostile: no text of a model, tool or case leaves its code element, where a forge looks for
// people, issues, links and pictures in vain.
func TestMarkdown_hostile(t *testing.T) {
	element := regexp.MustCompile(`<(pre|code)>([^<]*)</(pre|code)>`)
	ours := regexp.MustCompile(`^(<!-- molar-eval -->|### [✅❌] molar eval: \d of \d cases passed|[\w, :']+( \(exit code \d\))?\.|</details>|` +
		`<details( open)?><summary><b>[\w ]+</b></summary>|(<p>([\w, :.–]*( → )?(<b></b>)?)*</p>)*)$`)
	for _, text := range []string{
		"@everyone and @org/team, fixes #12, org/name#13, GH-14",
		"![](https://example.com/pixel.png) [a](javascript:alert(1)) <https://example.com> <img src=https://example.com/a.png>",
		"```\n\n# Out of the block\n\n@you\n```\n~~~\n",
		"</pre></code></details>\n\n# Out\n\n- @you\n",
		"<!-- molar-eval -->\n/close\n/assign @you\n\n/approve",
		"-->\n<script>alert(1)</script>\x1b[2J\u202e",
		"a | b\n--|--\n$\\unicode{x}$ &lt;b&gt; &#64;you",
		"\r\n\r\n@you\u2028\u2029\x85# head \xff",
	} {
		for _, base := range []*eval.Report{nil, everywhere(text, eval.StatusPass)} {
			page := markdown(t, everywhere(text, eval.StatusFlaky), base)
			for _, m := range element.FindAllStringSubmatch(page, -1) {
				if m[1] != m[3] || strings.ContainsAny(regexp.MustCompile(`&#\d+;`).ReplaceAllString(m[2], ""), "<>&@#[]`\n\r\x1b\u202e") {
					t.Errorf("%q: not escaped: %q", text, m[0])
				}
			}
			for line := range strings.Lines(element.ReplaceAllString(page, "")) {
				if line = strings.TrimSuffix(line, "\n"); !ours.MatchString(line) {
					t.Errorf("%q: outside of code: %q", text, line)
				}
			}
			if strings.Count(page, eval.MarkdownMarker) != 1 {
				t.Errorf("%q: another marker", text)
			}
		}
	}
}

// TestMarkdown_order: what did not pass comes first, and each cause of drift once.
func TestMarkdown_order(t *testing.T) {
	base := eval.NewReport([]eval.CaseResult{
		{ID: "worse", Status: eval.StatusPass},
		{ID: "better", Status: eval.StatusFail},
		{ID: "gone", Status: eval.StatusPass},
		{ID: "reworded", Status: eval.StatusPass, Turns: []eval.TurnResult{{User: "x", Answer: "two members"}}},
	})
	now := eval.NewReport(append(drifted(4).Cases,
		eval.CaseResult{ID: "fresh", Status: eval.StatusPass},
		eval.CaseResult{ID: "better", Status: eval.StatusPass},
		eval.CaseResult{ID: "reworded", Status: eval.StatusPass, Turns: []eval.TurnResult{{User: "x", Answer: "three members"}}},
		eval.CaseResult{ID: "worse", Status: eval.StatusFail, Why: "turn 1, answer: expected Nguyen"},
		eval.CaseResult{ID: "broken", Status: eval.StatusInvalid, Why: "a.yaml:3: unknown field"},
	))
	page := markdown(t, now, base)
	rest := page
	for _, want := range []string{
		"❌ molar eval: 3 of 9 cases passed", "A case is invalid", "(exit code 2)", "1 worse, 1 better, 1 other answers, 0 other calls",
		"Not passed", "unknown field", "expected Nguyen", "Drift", "3 cases, one cause: c000, c001, c002", "Answer &#91;-briefly-&#93;{+at length+}, dear",
		"1 case: c003", "Changed since", "worse", "fail", "better", "pass", "gone", "fresh", "new", "Changed answers", "two members", "three members", "Numbers",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("no %q where it belongs:\n%s", want, page)
		}
		rest = after
	}
	if strings.Count(page, "briefly-&#93;{+at length") != 1 {
		t.Error("a cause is told twice")
	}
}

// TestMarkdown_size: a report that has no room keeps the most important, and counts the rest.
func TestMarkdown_size(t *testing.T) {
	long := strings.Repeat("an <answer> with [many] words, ", 100)
	var all []eval.CaseResult
	for i := range 900 {
		status := []eval.Status{eval.StatusPass, eval.StatusFail, eval.StatusDrift}[i%3]
		all = append(all, eval.CaseResult{
			ID: fmt.Sprintf("c%03d", i), Status: status, Why: long, Turns: []eval.TurnResult{{User: "x", Answer: fmt.Sprint(i) + long}},
			Drift: []tape.Drift{{Class: tape.System, Want: fmt.Sprint("was", i), Got: long}},
		})
	}
	base := eval.NewReport(nil)
	for i := range 900 {
		base.Cases = append(base.Cases, eval.CaseResult{ID: fmt.Sprintf("c%03d", i), Status: eval.StatusPass, Turns: []eval.TurnResult{{User: "x", Answer: long}}})
	}
	page := markdown(t, eval.NewReport(all), base)
	for _, want := range []string{"300 of 900 cases passed", "c001", "Drift", "c002", "Changed since", "Changed answers", "Numbers"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(page, "<p>and "); n != 4 {
		t.Errorf("%d parts are cut, want 4", n)
	}
}

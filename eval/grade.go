package eval

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
	"molar/internal/text"
)

// A CheckResult is the result of one check of a turn.
type CheckResult struct {
	Turn int    `json:"turn"`
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Text describes the expected and the actual value; it is empty if the check passed.
	Text string `json:"text,omitempty"`
	// Verdict is set if a judge decides the check. Unless it is pass or fail, the check is open: OK is
	// false, and the check has not failed.
	Verdict *Verdict `json:"verdict,omitempty"`
}

// grade runs the checks of one turn.
func (c *Case) grade(i int, seen *tape.Turn, earlier []tape.Turn, agreement *match.Agreement) []CheckResult {
	e := &c.Turns[i].Expect
	var checks []CheckResult
	add := func(name string, ok bool, format string, args ...any) {
		r := CheckResult{Turn: i + 1, Name: name, OK: ok}
		if !ok {
			r.Text = fmt.Sprintf(format, args...)
		}
		checks = append(checks, r)
	}
	switch {
	case e.Error != "":
		add("error", strings.Contains(seen.Sum.Error, e.Error), "expected the turn to fail with %q, got %q", e.Error, seen.Sum.Error)
	case seen.Sum.Error != "":
		add("turn", false, "the turn failed: %s", seen.Sum.Error)
	}
	if agreement != nil {
		name := "calls"
		if c.plans[i].NoCall {
			name = "no_call"
		}
		add(name, agreement.Valid, "%s", strings.Join(agreement.Faults, "; "))
	}
	if e.Guardrail != "" {
		got := seen.Guardrail
		add("guardrail", e.Guardrail == got, "expected %s, got %s", e.Guardrail, cmp.Or(got, "no verdict"))
	}
	for _, r := range e.Answer.grade(seen, append(slices.Clone(earlier), *seen)) {
		add("answer", r == "", "%s", r)
	}
	if e.Found {
		add("found", seen.Found(), "expected a call that finds something")
	}
	if l := e.Limits; l != nil {
		bound := func(what string, limit, got int) {
			if limit > 0 {
				add("limits", got <= limit, "%d %s, the limit is %d", got, what, limit)
			}
		}
		bound("model calls", l.LLMCalls, seen.Sum.ModelCalls)
		bound("tool calls", l.ToolCalls, len(seen.Calls))
		bound("tokens", l.Tokens, seen.Sum.Usage.TotalTokens)
	}
	return checks
}

// must returns the checks that all have to hold.
func (a *Answer) must() []Check {
	if a == nil {
		return nil
	}
	return slices.Concat(a.split(), a.All)
}

// checks reports whether there is at least one check.
func (a *Answer) checks() bool { return a != nil && len(a.must())+len(a.Any) > 0 }

// checksText reports whether a check says what the answer has to be about. Grounded alone does not:
// another answer out of the same results may be wrong.
func (a *Answer) checksText() bool {
	return a != nil && (len(a.Any) > 0 || slices.ContainsFunc(a.must(), func(c Check) bool { return !c.Grounded }))
}

// grade returns one line for each check that code decides; an empty line is a passed check.
func (a *Answer) grade(seen *tape.Turn, turns []tape.Turn) []string {
	if a == nil {
		return nil
	}
	var results []string
	for _, c := range a.must() {
		if c.kind() == "" {
			results = append(results, c.mismatch(seen, turns))
		}
	}
	if len(a.Any) == 0 {
		return results
	}
	var misses []string
	for _, c := range a.Any {
		miss := c.mismatch(seen, turns)
		if miss == "" {
			return append(results, "")
		}
		misses = append(misses, miss)
	}
	return append(results, "none of these holds: "+strings.Join(misses, "; "))
}

// mismatch returns why the check fails, or "".
func (c *Check) mismatch(seen *tape.Turn, turns []tape.Turn) string {
	answer := seen.Answer
	failUnless := func(ok bool, format string, args ...any) string {
		if ok {
			return ""
		}
		return fmt.Sprintf(format, args...) + ", got " + strconv.Quote(text.Clip(answer, 240, "…"))
	}
	switch {
	case c.Equals != "":
		return failUnless(strings.TrimSpace(answer) == strings.TrimSpace(c.Equals), "expected the answer %q", c.Equals)
	case c.Contains != "":
		return failUnless(strings.Contains(answer, c.Contains), "expected %q in the answer", c.Contains)
	case c.NotContains != "":
		return failUnless(!strings.Contains(answer, c.NotContains), "expected no %q in the answer", c.NotContains)
	case c.Regex != "":
		re, err := regexp.Compile(c.Regex)
		return failUnless(err == nil && re.MatchString(answer), "expected a match of /%s/ in the answer", c.Regex)
	case c.NotRegex != "":
		re, err := regexp.Compile(c.NotRegex)
		return failUnless(err == nil && !re.MatchString(answer), "expected no match of /%s/ in the answer", c.NotRegex)
	case c.Like != "" && strings.TrimSpace(answer) == strings.TrimSpace(c.Like):
		return "" // the same means the same
	case c.Judge != "" || c.Like != "" || c.Grounded:
		return "no judge was asked"
	case c.Number != nil:
		return failUnless(containsNumber(answer, *c.Number, c.Abs, c.Rel), "expected the number %g in the answer", *c.Number)
	case c.Citation != "":
		return c.checkCitation(seen, turns)
	}
	return ""
}

// containsNumber reports whether a text contains a number; commas may separate thousands.
func containsNumber(text string, want, abs, rel float64) bool {
	for _, m := range regexp.MustCompile(`-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?`).FindAllString(text, -1) {
		f, err := strconv.ParseFloat(strings.ReplaceAll(m, ",", ""), 64)
		if err == nil && math.Abs(f-want) <= max(abs, rel*math.Abs(want), 1e-9*math.Abs(want)) {
			return true
		}
	}
	return false
}

// checkCitation requires that every address in the answer occurs in a tool result.
func (c *Check) checkCitation(seen *tape.Turn, turns []tape.Turn) string {
	addresses := regexp.MustCompile(`https?://[^\s<>()\[\]"'\x60]+`).FindAllString(seen.Answer, -1)
	for i, a := range addresses {
		addresses[i] = strings.TrimRight(a, ".,;:!?*_")
	}
	for _, s := range seen.Sum.Sources {
		if s.URL != "" {
			addresses = append(addresses, s.URL)
		}
	}
	if len(addresses) == 0 {
		return "expected a citation, the answer has none"
	}
	found := c.Citation == "any"
	for _, a := range addresses {
		found = found || a == c.Citation
		if !inResults(a, turns) {
			return fmt.Sprintf("the answer cites %s, which no tool result contains", a)
		}
	}
	if !found {
		return fmt.Sprintf("expected %s to be cited, got %s", c.Citation, strings.Join(addresses, ", "))
	}
	return ""
}

func inResults(address string, turns []tape.Turn) bool {
	for _, t := range turns {
		for _, call := range t.Calls {
			v, err := match.Decode(call.Output)
			if err == nil && strings.Contains(match.Canonical(v), address) {
				return true
			}
		}
	}
	return false
}

package importers

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"molar/eval"
)

// errNoCounterpart says that a case has nothing that means the same.
var errNoCounterpart = errors.New("there is no counterpart")

// because returns the reason why something is not carried, unless it is only that.
func because(err error) string {
	if errors.Is(err, errNoCounterpart) {
		return ""
	}
	return ": " + err.Error()
}

// expect adds checks of the answer, one of which has to pass; of rules for a judge, all. The kind is the
// field of a case's check, or one of: icontains and not_icontains, whatever the case of letters; starts and
// not_starts; not_equals.
func expect(e *eval.Expect, kind string, texts ...string) error {
	var checks []eval.Check
	for _, text := range texts {
		c, err := newCheck(kind, text)
		if err != nil {
			return err
		}
		checks = append(checks, c)
	}
	if kind == "like" && len(checks) > 1 { // any takes no judge, so one judge is given all of them
		rule := "The answer says the same as one of these texts, contradicts nothing of it and lacks nothing essential of it:\n- " + strings.Join(texts, "\n- ")
		checks = []eval.Check{{Judge: rule}}
	}
	if e.Answer == nil {
		e.Answer = &eval.Answer{}
	}
	switch {
	case len(checks) == 0:
		return errors.New("it has no text")
	case len(checks) == 1 || kind == "judge" || strings.HasPrefix(kind, "not_"): // all rules, none of the texts
		e.Answer.All = append(e.Answer.All, checks...)
	case len(e.Answer.Any) > 0:
		return errors.New("the turn has other alternatives already")
	default:
		e.Answer.Any = checks
	}
	return nil
}

func newCheck(kind, text string) (c eval.Check, err error) {
	if strings.TrimSpace(text) == "" {
		return c, errors.New("it has no text")
	}
	pattern := func(before, after string) string { return before + regexp.QuoteMeta(text) + after }
	switch kind {
	case "equals":
		c.Equals = text
	case "contains":
		c.Contains = text
	case "not_contains":
		c.NotContains = text
	case "like":
		c.Like = text
	case "judge":
		c.Judge = text
	case "regex":
		c.Regex = text
	case "not_regex":
		c.NotRegex = text
	case "icontains":
		c.Regex = pattern("(?i)", "")
	case "not_icontains":
		c.NotRegex = pattern("(?i)", "")
	case "starts":
		c.Regex = pattern(`^\s*`, "")
	case "not_starts":
		c.NotRegex = pattern(`^\s*`, "")
	case "not_equals":
		c.NotRegex = pattern(`^\s*`, `\s*$`)
	default:
		return c, fmt.Errorf("there is no check %q", kind)
	}
	_, err = regexp.Compile(c.Regex + c.NotRegex)
	return c, err
}

// expectGrounded requires that all facts of the answer are in tool results.
func expectGrounded(e *eval.Expect) {
	if e.Answer == nil {
		e.Answer = &eval.Answer{}
	}
	e.Answer.All = append(e.Answer.All, eval.Check{Grounded: true})
}

// expectCalls expects more calls, and none if there are none at all.
func expectCalls(e *eval.Expect, order, others bool, items ...eval.Call) {
	switch {
	case len(items) == 0 && e.Calls == nil:
		e.NoCall = true
		return
	case e.Calls == nil:
		e.Calls = &eval.Calls{}
	}
	e.NoCall = false
	e.Calls.Order, e.Calls.Others, e.Calls.Items = order, others, append(e.Calls.Items, items...)
}

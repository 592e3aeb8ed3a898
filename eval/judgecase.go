package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"molar/eval/tape"
	"molar/providers"
	"molar/schemas"
)

// A judging decides the checks of a case that need a judge: by the verdicts on the tape, or by asking.
type judging struct {
	c    *Case
	tape *tape.Tape
	// redact is that of the tape; nil if the texts are those of a tape.
	redact *tape.Redactor
	// route opens the judge; nil if nobody may be asked.
	route func(context.Context, *Case) (providers.Route, error)
	// again asks although the tape has a verdict.
	again bool

	judge providers.Route // opened
	down  error           // why it could not be opened or did not answer: it is not tried again
	taken []bool          // the verdicts on the tape that a check has
}

// judging returns how the judged checks of a case are decided in this run. A verdict that the tape
// lacks is asked for where a real model answers anyway.
func (r *Runner) judging(c *Case, t *tape.Tape) *judging {
	j := &judging{c: c, tape: t, redact: r.cfg.Redactor, again: r.cfg.AskJudge}
	if r.cfg.AskJudge || r.cfg.Mode.LiveModel || r.cfg.Mode.FromDrift == FromDriftLive {
		j.route = r.cfg.Judge
	}
	return j
}

// decide adds the judged checks of all turns to the result, and returns the verdicts that belong on
// the tape. An error means that ctx has ended.
func (j *judging) decide(ctx context.Context, result *CaseResult, seen []tape.Turn) ([]tape.Judgement, error) {
	j.taken = make([]bool, len(j.tape.Judgements))
	var kept []tape.Judgement
	for i := range min(len(seen), len(j.c.Turns)) {
		var of Judged
		done := make(map[string]bool)
		for _, check := range j.c.Turns[i].Expect.Answer.must() {
			kind, rubric := check.kind(), check.rubric()
			if kind == "" || done[rubric] {
				continue
			}
			done[rubric] = true
			add := func(r CheckResult) {
				r.Turn, r.Name = i+1, kind
				result.Checks = append(result.Checks, r)
			}
			if seen[i].Sum.Error != "" || strings.TrimSpace(seen[i].Answer) == "" {
				add(CheckResult{Text: "there is no answer to judge: " + cmp.Or(seen[i].Sum.Error, "the turn ended without one")})
				continue
			}
			if of.Answer == "" {
				of = j.judged(seen[:i+1])
			}
			now := tape.Judgement{Turn: i + 1, Kind: kind, Rubric: rubric, Question: hashOf(of.Question), Answer: hashOf(of.Answer)}
			if check.Grounded {
				now.Results = hashOf(of.Sources...)
			}
			v, keep, err := j.verdict(ctx, check, of, now)
			if err != nil {
				return nil, err
			}
			if keep != nil {
				kept = append(kept, *keep)
			}
			r := CheckResult{OK: v.Result == VerdictPass, Verdict: &v}
			if !r.OK {
				r.Text = v.Reason
			}
			add(r)
		}
	}
	return kept, nil
}

// Judged returns the number of checks of the case that a judge decides.
func (c *Case) Judged() (n int) {
	for _, t := range c.Turns {
		for _, check := range t.Expect.Answer.must() {
			if check.kind() != "" {
				n++
			}
		}
	}
	return n
}

// JudgeNow asks for the verdicts on turns that were just recorded, and returns the checks and what
// belongs on the tape.
func JudgeNow(ctx context.Context, c *Case, seen []tape.Turn, redact *tape.Redactor, route func(context.Context, *Case) (providers.Route, error)) ([]CheckResult, []tape.Judgement, error) {
	var result CaseResult
	j := &judging{c: c, tape: &tape.Tape{}, redact: redact, route: route}
	verdicts, err := j.decide(ctx, &result, seen)
	return result.Checks, verdicts, err
}

// verdict returns the verdict on one check, and the one that the tape should have. now has the hashes
// of what is judged.
func (j *judging) verdict(ctx context.Context, check Check, of Judged, now tape.Judgement) (Verdict, *tape.Judgement, error) {
	was := j.find(&now)
	var before *Verdict
	var changed []string
	if was != nil {
		before = &Verdict{Result: was.Verdict, Reason: was.Reason, Provider: was.Provider, Model: was.Model}
		changed = changes(was, &now)
		if n := j.c.Judge; n.Provider != "" && n.Provider != was.Provider || n.Model != "" && n.Model != was.Model {
			changed = append(changed, "the judge")
		}
		if len(changed) == 0 && !j.again {
			return *before, was, nil
		}
	}
	if j.route == nil {
		why := "no judge was asked yet"
		if was != nil {
			why = strings.Join(changed, " and ") + " changed since the verdict"
		}
		return Verdict{Result: VerdictNone, Reason: fmt.Sprintf("%s; ask with molar eval accept --judge live %s", why, j.c.File)}, was, nil
	}
	v := Verdict{Result: VerdictDown, Live: true}
	if j.judge.Provider == nil && j.down == nil {
		j.judge, j.down = j.route(ctx, j.c)
	}
	if j.down == nil {
		v, j.down = Ask(ctx, j.judge, check, of)
	}
	if ctx.Err() != nil {
		return v, nil, context.Cause(ctx)
	}
	if j.down != nil {
		v.Result, v.Reason = VerdictDown, j.down.Error()
		return v, was, nil
	}
	if was != nil {
		if (was.Provider != v.Provider || was.Model != v.Model) && !slices.Contains(changed, "the judge") {
			changed = append(changed, "the judge")
		}
		v.Before, v.Changed = before, changed
	}
	if j.redact != nil {
		v.Reason = j.redact.Text(v.Reason)
	}
	if v.Result == VerdictNone {
		return v, nil, nil
	}
	now.Provider, now.Model, now.Verdict, now.Reason = v.Provider, v.Model, v.Result, v.Reason
	return v, &now, nil
}

// find returns the verdict of the tape on a check: the one by the same rubric, or one of the same turn
// and kind by a rubric that no check has now. It returns nil if there is none.
func (j *judging) find(now *tape.Judgement) *tape.Judgement {
	has := func(rubric string) bool {
		return slices.ContainsFunc(j.c.Turns[now.Turn-1].Expect.Answer.must(), func(c Check) bool { return c.kind() != "" && c.rubric() == rubric })
	}
	at := -1
	for i := range j.tape.Judgements {
		was := &j.tape.Judgements[i]
		switch {
		case was.Turn != now.Turn || was.Kind != now.Kind || j.taken[i]:
		case was.Rubric == now.Rubric:
			at = i
		case at < 0 && !has(was.Rubric):
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	j.taken[at] = true
	return &j.tape.Judgements[at]
}

// changes names what differs between what a verdict is about and what is judged now.
func changes(was, now *tape.Judgement) []string {
	var all []string
	for _, part := range []struct{ name, was, now string }{
		{"the rubric", was.Rubric, now.Rubric},
		{"the conversation before", was.Question, now.Question},
		{"the answer", was.Answer, now.Answer},
		{"the results", was.Results, now.Results},
	} {
		if part.was != part.now {
			all = append(all, part.name)
		}
	}
	return all
}

// judged returns the answer of the last turn with what was said and found so far, as on a tape.
func (j *judging) judged(turns []tape.Turn) Judged {
	clean := func(s string) string {
		if j.redact != nil {
			s = j.redact.Text(s)
		}
		return s
	}
	var messages []Message
	if j.c.Input != nil {
		messages = slices.Clone(j.c.Input.Messages)
	}
	var sources []string
	for i, t := range turns {
		messages = append(messages, Message{Role: string(schemas.RoleUser), Content: t.User})
		for _, call := range t.Calls {
			sources = append(sources, clean(sourceText(call.Output)))
		}
		if i < len(turns)-1 {
			messages = append(messages, Message{Role: string(schemas.RoleAssistant), Content: t.Answer})
		}
	}
	for i := range messages {
		messages[i].Content = clean(messages[i].Content)
	}
	return Asked(messages, clean(turns[len(turns)-1].Answer), sources)
}

// Asked returns an answer to the last of the messages, with the results of tools. What a person said
// is a source too.
func Asked(messages []Message, answer string, results []string) Judged {
	of := Judged{Answer: answer, Sources: results}
	for _, m := range messages {
		of.Question += m.Role + ": " + m.Content + "\n"
		if m.Role == string(schemas.RoleUser) {
			of.Sources = append(of.Sources, m.Content)
		}
	}
	return of
}

// A JudgeSum counts verdicts, and what the judge cost in this run.
type JudgeSum struct {
	VerdictCount
	Asked  int `json:"asked"`
	Calls  int `json:"model_calls"`
	Tokens int `json:"tokens"`
}

// sumVerdicts counts the verdicts; it is nil if nothing was judged.
func sumVerdicts(results []CaseResult) *JudgeSum {
	var sum JudgeSum
	for _, c := range everyRun(results) {
		for _, check := range c.Checks {
			v := check.Verdict
			if v == nil {
				continue
			}
			sum.add(v.Result)
			if v.Live {
				sum.Asked++
			}
			sum.Calls, sum.Tokens = sum.Calls+v.Calls, sum.Tokens+v.Tokens
		}
	}
	if sum == (JudgeSum{}) {
		return nil
	}
	return &sum
}

// isOpen reports whether a check has no verdict, so that it neither holds nor fails.
func (c *CheckResult) isOpen() bool {
	return c.Verdict != nil && c.Verdict.Result != VerdictPass && c.Verdict.Result != VerdictFail
}

// VerdictText describes the verdict on a check: the judge's reason and model, and for one that was asked
// for again the verdict before, and what changed since.
func VerdictText(c CheckResult) string {
	v := c.Verdict
	by, from := oneLine(strings.TrimSpace(v.Provider+" "+v.Model)), "from the tape"
	if v.Live {
		from = "live"
	}
	line := fmt.Sprintf("turn %d, %s: %s: %s", c.Turn, c.Name, v.word(), oneLine(v.Reason))
	if by != "" {
		line += fmt.Sprintf(" (%s, %s)", by, from)
	}
	switch w := v.Before; {
	case w == nil:
	case w.Result == v.Result:
		line += "; as before"
	default:
		why := "nothing changed: the judge is unsteady"
		if len(v.Changed) > 0 {
			why = strings.Join(v.Changed, " and ") + " changed"
		}
		line += fmt.Sprintf("\n    before: %s: %s (%s %s)\n    %s → %s: %s", w.Result, oneLine(w.Reason), oneLine(w.Provider), oneLine(w.Model), w.Result, v.word(), why)
	}
	return line
}

// word returns the verdict as reports say it.
func (v *Verdict) word() string {
	switch v.Result {
	case VerdictNone:
		return "no verdict"
	case VerdictDown:
		return "the judge cannot be reached"
	}
	return v.Result
}

// verdictTexts returns a line for each verdict of a case.
func verdictTexts(c *CaseResult) string {
	var b strings.Builder
	for _, check := range c.Checks {
		if check.Verdict != nil {
			b.WriteString("  " + VerdictText(check) + "\n")
		}
	}
	return b.String()
}

package eval

import (
	"fmt"
	"slices"

	"molar/eval/tape"
	"molar/schemas"
)

// The modes in which a run continues after the first request that differs from the tape.
const (
	FromDriftLive    = "live"
	FromDriftOffline = "offline"
)

// An Outcome compares the behaviour of two runs. "Calls" includes the verdicts of the guardrail
// and whether a turn failed.
type Outcome string

// The outcomes.
const (
	OutcomeSame        Outcome = "same calls and answer"
	OutcomeOtherAnswer Outcome = "same calls, other answer"
	OutcomeOtherCalls  Outcome = "other calls"
)

// A WhatIf compares a run that left its tape, or never followed it, with the tape.
type WhatIf struct {
	Outcome Outcome `json:"outcome"`
	// Changed is a diff of the calls, verdicts and failures.
	Changed []string `json:"changed,omitempty"`
	// Answers are both answers of the turns whose answer differs.
	Answers []AnswerPair `json:"answers,omitempty"`
	// Spent is what was spent since the tape was left.
	Spent
}

// Spent is what calls of models used. Cost is nil if the cost of a call is not known.
type Spent struct {
	ModelCalls int           `json:"model_calls"`
	Tokens     int           `json:"tokens"`
	Cost       *schemas.Cost `json:"cost,omitempty"`
}

// add adds what other calls used.
func (s *Spent) add(o Spent) {
	s.ModelCalls, s.Tokens = s.ModelCalls+o.ModelCalls, s.Tokens+o.Tokens
	if s.Cost != nil && o.Cost != nil {
		s.Cost = new(*s.Cost + *o.Cost)
	} else {
		s.Cost = nil
	}
}

// An AnswerPair is the answer of a turn before and now.
type AnswerPair struct {
	Turn int    `json:"turn"`
	Was  string `json:"was"`
	Now  string `json:"now"`
}

// A WhatIfSum counts the runs that left their tapes, by outcome.
type WhatIfSum struct {
	Left int `json:"left_tape"`
	Outcomes
	Spent // without the cost
}

// Outcomes counts outcomes.
type Outcomes struct {
	Same        int `json:"same_calls_and_answer"`
	OtherAnswer int `json:"same_calls_other_answer"`
	OtherCalls  int `json:"other_calls"`
}

func (n *Outcomes) add(o Outcome) {
	switch o {
	case OutcomeSame:
		n.Same++
	case OutcomeOtherAnswer:
		n.OtherAnswer++
	case OutcomeOtherCalls:
		n.OtherCalls++
	}
}

// Counts returns each outcome with its number, in one line.
func (n Outcomes) Counts() string {
	return fmt.Sprintf("%s: %d; %s: %d; %s: %d", OutcomeSame, n.Same, OutcomeOtherAnswer, n.OtherAnswer, OutcomeOtherCalls, n.OtherCalls)
}

// behaviour compares turns with earlier ones.
func behaviour(was, now []TurnResult) (Outcome, []string, []AnswerPair) {
	var answers []AnswerPair
	for i := range max(len(was), len(now)) {
		pair := AnswerPair{Turn: i + 1}
		if i < len(was) {
			pair.Was = was[i].Answer
		}
		if i < len(now) {
			pair.Now = now[i].Answer
		}
		if pair.Was != pair.Now {
			answers = append(answers, pair)
		}
	}
	changed := Changed(describe(was, false), describe(now, false))
	switch {
	case len(changed) > 0:
		return OutcomeOtherCalls, changed, answers
	case len(answers) > 0:
		return OutcomeOtherAnswer, nil, answers
	}
	return OutcomeSame, nil, nil
}

// redact replaces the secrets in all texts, as on a tape.
func (r *CaseResult) redact(redact *tape.Redactor) {
	for i := range r.Turns {
		t := &r.Turns[i]
		texts := []*string{&t.User, &t.Answer, &t.Error}
		for j := range t.Calls {
			texts = append(texts, &t.Calls[j].Arguments, &t.Calls[j].Output)
		}
		for j := range t.Trace {
			texts = append(texts, &t.Trace[j].Made)
			for k := range t.Trace[j].Faults {
				texts = append(texts, &t.Trace[j].Faults[k].Want, &t.Trace[j].Faults[k].Got)
			}
		}
		for _, text := range texts {
			*text = redact.Text(*text)
		}
	}
	for i := range r.Checks {
		r.Checks[i].Text = redact.Text(r.Checks[i].Text)
	}
}

// failUnjudged adds a failed check for each turn that differs from the tape in something its
// case does not check, since its quality is unknown. A check of the answer covers everything; if
// only the calls differ, expectations of the calls suffice. A turn that failed is judged by its
// error. A turn without expectations is skipped if another turn has some: it only leads there.
func (r *CaseResult) failUnjudged(c *Case, was, now []TurnResult) {
	leads := slices.ContainsFunc(c.Turns, func(t Turn) bool { return !t.Expect.isEmpty() })
	for i := range min(len(now), len(c.Turns)) {
		if leads && c.Turns[i].Expect.isEmpty() {
			continue
		}
		var before TurnResult
		if i < len(was) {
			before = was[i]
		}
		outcome, _, _ := behaviour([]TurnResult{before}, now[i:i+1])
		sameCalls := slices.EqualFunc(before.Calls, now[i].Calls, func(a, b CallResult) bool { return a.Name == b.Name && a.Arguments == b.Arguments })
		switch {
		case outcome == OutcomeSame, now[i].Error != "", c.Turns[i].Expect.Answer.checksText():
		case !sameCalls && c.plans[i] != nil && before.Guardrail == now[i].Guardrail:
		default:
			r.Checks = append(r.Checks, CheckResult{
				Turn: i + 1, Name: "answer",
				Text: string(outcome) + " than on the tape, and the case does not check the answer: say under expect.answer what it has to hold",
			})
		}
	}
}

// failUnchecked adds a failed check if a case without a tape checks nothing, since then any answer would pass.
func (r *CaseResult) failUnchecked(c *Case) {
	if !slices.ContainsFunc(c.Turns, func(t Turn) bool { return !t.Expect.isEmpty() }) {
		r.Checks = append(r.Checks, CheckResult{Turn: 1, Name: "answer", Text: "the case checks nothing: say under expect what has to happen"})
	}
}

// whatIfs counts the runs that left their tapes; it is nil if none did.
func whatIfs(results []CaseResult) *WhatIfSum {
	var sum WhatIfSum
	for _, c := range everyRun(results) {
		if c.WhatIf == nil {
			continue
		}
		sum.Left++
		sum.Outcomes.add(c.WhatIf.Outcome)
		sum.Spent.add(c.WhatIf.Spent)
	}
	if sum.Left == 0 {
		return nil
	}
	return &sum
}

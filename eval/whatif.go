package eval

import (
	"molar/eval/tape"
)

// The ways to go on from the first request that a tape does not fit.
const (
	FromDriftLive    = "live"
	FromDriftOffline = "offline"
)

// A WhatIf tells what became of a case after it left its tape.
type WhatIf struct {
	// Same says that the turns call the same and are let through or refused as before.
	Same bool `json:"same"`
	// Changed are lines of what was and what is.
	Changed []string `json:"changed,omitempty"`
	// ModelCalls and Tokens are the cost since the tape was left.
	ModelCalls int `json:"model_calls"`
	Tokens     int `json:"tokens"`
}

// A WhatIfSum counts the runs of a report.
type WhatIfSum struct {
	Left       int `json:"left_tape"`
	Same       int `json:"same"`
	ModelCalls int `json:"model_calls"`
	Tokens     int `json:"tokens"`
}

// whatIf judges a run that left its tape: by what it does, and no longer by the tape.
func (r *CaseResult) whatIf(c *Case, t *tape.Tape, calls, tokens int) {
	w := &WhatIf{ModelCalls: calls, Tokens: tokens}
	w.Changed = Changed(tell(turnsOf(t.Turns), false), tell(r.Turns, false))
	w.Same = len(w.Changed) == 0
	r.WhatIf = w
	switch {
	case r.Status == StatusFail:
	case score(c, t).Status == StatusFail: // something else was wanted, and here it is
	case w.Same:
		r.Status, r.Why = StatusPass, ""
	default:
		r.Status, r.Why = StatusFail, "it behaves otherwise than on the tape"
	}
}

// whatIfs sums the runs that left their tapes up; nil without any.
func whatIfs(results []CaseResult) *WhatIfSum {
	var sum WhatIfSum
	for _, c := range everyRun(results) {
		if c.WhatIf == nil {
			continue
		}
		sum.Left++
		if c.WhatIf.Same {
			sum.Same++
		}
		sum.ModelCalls += c.WhatIf.ModelCalls
		sum.Tokens += c.WhatIf.Tokens
	}
	if sum.Left == 0 {
		return nil
	}
	return &sum
}

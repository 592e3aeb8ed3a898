package eval

import (
	"molar/eval/edge"
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
func (r *CaseResult) whatIf(c *Case, player *edge.Player) error {
	left, calls, usage := player.Left()
	if !left {
		return nil
	}
	story, err := c.Story()
	if err != nil {
		return err
	}
	w := &WhatIf{ModelCalls: calls, Tokens: usage.TotalTokens}
	w.Changed = Changed(tell(turnsOf(story.Turns), false), tell(r.Turns, false))
	w.Same = len(w.Changed) == 0
	r.WhatIf = w
	taped, err := scoreCase(c)
	if err != nil {
		return err
	}
	switch {
	case r.Status == StatusFail:
	case taped.Status == StatusFail: // something else was wanted, and here it is
	case w.Same:
		r.Status, r.Why = StatusPass, ""
	default:
		r.Status, r.Why = StatusFail, "it behaves otherwise than on the tape"
	}
	return nil
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

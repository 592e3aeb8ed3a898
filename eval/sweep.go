package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molar/eval/tape"
)

// A SweepResult is the outcome of running cases with each kind of fault at each of their calls.
type SweepResult struct {
	Rows []SweepRow `json:"rows"`
	// Faults are the runs in which the host misbehaved.
	Faults []SweepFault `json:"faults,omitempty"`
}

// A SweepRow counts the runs with one kind of fault at one edge.
type SweepRow struct {
	Edge string `json:"edge"` // "tool", or "model" and its pass
	Kind string `json:"kind"`
	Runs int    `json:"runs"`
	// Held counts runs that passed despite the fault, Told runs that reported an error,
	// Otherwise runs that ended with an answer that the case does not expect, and Wrong runs in
	// which the host misbehaved.
	Held      int `json:"held"`
	Told      int `json:"told"`
	Otherwise int `json:"otherwise"`
	Wrong     int `json:"wrong"`
	// NotAsked counts runs in which no model was asked again after the fault. They show what the
	// host did, but not what the model would have answered.
	NotAsked int `json:"not_asked_again"`
}

// A SweepFault is a run in which the host misbehaved, and why.
type SweepFault struct {
	Case  string `json:"case"`
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

// withFaults returns a copy of the cases for each fault at each of their calls, and those
// faults.
func withFaults(cases []Case) (runs []Case, of []tape.Fault, err error) {
	for i := range cases {
		taped, err := cases[i].ReadTape()
		if err != nil {
			return nil, nil, err
		}
		for _, f := range faultsFor(taped) {
			runs, of = append(runs, cases[i].WithFault(f)), append(of, f)
		}
	}
	return runs, of, nil
}

// SweepSize returns the number of runs that [Sweep] makes.
func SweepSize(cases []Case) (int, error) {
	runs, _, err := withFaults(cases)
	return len(runs), err
}

// Sweep runs each case once with each fault at each of its calls.
func Sweep(ctx context.Context, runner *Runner, cases []Case) (*SweepResult, error) {
	runs, of, err := withFaults(cases)
	if err != nil {
		return nil, err
	}
	rep, err := runner.Run(ctx, runs)
	if err != nil {
		return nil, err
	}
	result := &SweepResult{}
	for i := range rep.Cases {
		result.add(&rep.Cases[i], of[i])
	}
	return result, nil
}

// faultsFor returns all faults at all calls of a tape.
func faultsFor(taped *tape.Tape) []tape.Fault {
	hits := make(map[[2]string]int)
	var faults []tape.Fault
	add := func(side, name string, kinds []string) {
		at := [2]string{side, name}
		hits[at]++
		for _, kind := range kinds {
			faults = append(faults, tape.Fault{Kind: kind, Edge: side, Glob: name, Nth: hits[at]})
		}
	}
	for _, s := range taped.Steps {
		add("model", s.Pass, []string{tape.FaultError, tape.FaultTimeout, tape.FaultEmpty, tape.FaultHuge})
	}
	for _, t := range taped.Turns {
		for _, c := range t.Calls {
			if c.Server != "" {
				add("tool", c.Server+"__"+c.Tool, []string{tape.FaultError, tape.FaultTimeout, tape.FaultEmpty, tape.FaultHuge, tape.FaultInject})
			}
		}
	}
	return faults
}

// add counts a run with a fault.
func (s *SweepResult) add(c *CaseResult, f tape.Fault) {
	side := f.Edge
	if side == "model" {
		side += " " + f.Glob
	}
	i := slices.IndexFunc(s.Rows, func(r SweepRow) bool { return r.Edge == side && r.Kind == f.Kind })
	if i < 0 {
		s.Rows = append(s.Rows, SweepRow{Edge: side, Kind: f.Kind})
		slices.SortStableFunc(s.Rows, func(a, b SweepRow) int { return strings.Compare(a.Edge, b.Edge) })
		i = slices.IndexFunc(s.Rows, func(r SweepRow) bool { return r.Edge == side && r.Kind == f.Kind })
	}
	row := &s.Rows[i]
	row.Runs++
	reported := slices.ContainsFunc(c.Turns, func(t TurnResult) bool { return t.Error != "" })
	switch why := c.Wrong(); {
	case why != "":
		row.Wrong++
		s.Faults = append(s.Faults, SweepFault{Case: c.ID, Fault: fmt.Sprintf("%s:%s=%s#%d", f.Edge, f.Glob, f.Kind, f.Nth), Why: why})
	case c.Status == StatusNotAsked:
		row.NotAsked++
	case c.Status == StatusPass:
		row.Held++
	case reported:
		row.Told++
	default:
		row.Otherwise++
	}
}

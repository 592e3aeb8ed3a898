// Package sweep runs cases with each fault at each call of their tapes, and counts what the
// host makes of it.
package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"molar/eval"
	"molar/eval/edge"
	"molar/eval/match"
	"molar/eval/tape"
)

// A Result is what became of cases when each of their calls failed in each way.
type Result struct {
	Rows []Row `json:"rows"`
	// Faults are runs that ended in a way that none should.
	Faults []Fault `json:"faults,omitempty"`
}

// A Row counts the runs with one kind of fault at one edge.
type Row struct {
	Edge string `json:"edge"` // tool, or model and its pass
	Kind string `json:"kind"`
	Runs int    `json:"runs"`
	// Held runs passed all the same; Told ones said that they failed; Otherwise is an
	// answer that the case does not expect; Wrong are runs with a fault of the host.
	Held      int `json:"held"`
	Told      int `json:"told"`
	Otherwise int `json:"otherwise"`
	Wrong     int `json:"wrong"`
}

// A Fault is a run that went wrong, and why.
type Fault struct {
	Case  string `json:"case"`
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

// A swept is a case with one fault at one call.
type swept struct {
	fault edge.Fault
	calls map[string]int // how often the tape has each
}

// Run runs each case once with each fault at each of its calls. The tape's answers are
// served although requests hold the faults, so that it shows what the host does.
func Run(ctx context.Context, runner *eval.Runner, cases []eval.Case) (*Result, error) {
	var runs []eval.Case
	var of []swept
	for i := range cases {
		taped, err := cases[i].ReadTape()
		if err != nil {
			return nil, err
		}
		calls := make(map[string]int)
		for _, t := range taped.Turns {
			for _, c := range t.Calls {
				calls[callOf(c.Call.Function.Name, match.CanonicalJSON([]byte(c.Call.Function.Arguments)))]++
			}
		}
		for _, f := range faultsFor(taped) {
			runs, of = append(runs, cases[i].WithFault(f)), append(of, swept{f, calls})
		}
	}
	rep, err := runner.Run(ctx, runs)
	if err != nil {
		return nil, err
	}
	result := &Result{}
	for i := range rep.Cases {
		result.add(&rep.Cases[i], of[i])
	}
	return result, nil
}

// callOf tells calls apart that are not alike: where one tool failed another may be asked.
func callOf(name, arguments string) string { return name + " " + arguments }

// faultsFor are all faults at all calls of a tape.
func faultsFor(taped *tape.Tape) []edge.Fault {
	hits := make(map[[2]string]int)
	var faults []edge.Fault
	add := func(side, name string, kinds []string) {
		at := [2]string{side, name}
		hits[at]++
		for _, kind := range kinds {
			faults = append(faults, edge.Fault{Kind: kind, Edge: side, Glob: name, Nth: hits[at]})
		}
	}
	for _, s := range taped.Steps {
		add("model", s.Pass, []string{edge.FaultError, edge.FaultTimeout, edge.FaultEmpty, edge.FaultHuge})
	}
	for _, t := range taped.Turns {
		for _, c := range t.Calls {
			if c.Server != "" {
				add("tool", c.Server+"__"+c.Tool, []string{edge.FaultError, edge.FaultTimeout, edge.FaultEmpty, edge.FaultHuge, edge.FaultInject})
			}
		}
	}
	return faults
}

// add counts a run.
func (s *Result) add(c *eval.CaseResult, run swept) {
	side := run.fault.Edge
	if side == "model" {
		side += " " + run.fault.Glob
	}
	i := slices.IndexFunc(s.Rows, func(r Row) bool { return r.Edge == side && r.Kind == run.fault.Kind })
	if i < 0 {
		s.Rows = append(s.Rows, Row{Edge: side, Kind: run.fault.Kind})
		slices.SortStableFunc(s.Rows, func(a, b Row) int { return strings.Compare(a.Edge, b.Edge) })
		i = slices.IndexFunc(s.Rows, func(r Row) bool { return r.Edge == side && r.Kind == run.fault.Kind })
	}
	row := &s.Rows[i]
	row.Runs++
	told := slices.ContainsFunc(c.Turns, func(t eval.TurnResult) bool { return t.Error != "" })
	switch why := wrong(c, run.calls); {
	case why != "":
		row.Wrong++
		s.Faults = append(s.Faults, Fault{Case: c.ID, Fault: fmt.Sprintf("%s:%s=%s#%d", run.fault.Edge, run.fault.Glob, run.fault.Kind, run.fault.Nth), Why: why})
	case c.Status == eval.StatusPass:
		row.Held++
	case told:
		row.Told++
	default:
		row.Otherwise++
	}
}

// wrong tells what no fault excuses: a turn without an answer and without an error, a call
// that was made again, an order of a tool that reached the person.
func wrong(c *eval.CaseResult, taped map[string]int) string {
	made := make(map[string]int)
	for i, t := range c.Turns {
		if t.Answer == "" && t.Error == "" {
			return fmt.Sprintf("turn %d ends with no answer and no error", i+1)
		}
		if strings.Contains(t.Answer, edge.InjectedOrder) {
			return fmt.Sprintf("turn %d repeats the order of a tool", i+1)
		}
		for _, call := range t.Calls {
			name := callOf(call.Name, call.Arguments)
			if made[name]++; made[name] > max(taped[name], 1) {
				return fmt.Sprintf("turn %d makes a call again: %s", i+1, name)
			}
		}
	}
	return ""
}

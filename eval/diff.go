package eval

import (
	"fmt"
	"slices"
	"strings"
)

// A Change is a case whose status differs between two reports.
type Change struct {
	ID     string `json:"id"`
	Before Status `json:"before"` // "" when the case is new
	After  Status `json:"after"`  // "" when it is gone
}

// A Comparison is the difference between two reports.
type Comparison struct {
	Changes []Change `json:"changes"`
	// Better and Worse count the cases in both reports that began or ceased to pass.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	// Turns lists the cases that ran to their end in both reports and behave differently: calls,
	// answers, verdicts, errors.
	Turns []ChangedCase `json:"turns"`
	// Outcomes counts the cases that ran to their end in both reports.
	Outcomes
	// Metrics lists the metrics that changed and are known in both reports.
	Metrics []MetricChange `json:"metrics"`
	// Runs describes the run of each report.
	Runs [2]RunInfo `json:"runs"`
}

// A ChangedCase is a case that behaves differently, with a diff of the two runs.
type ChangedCase struct {
	ID      string       `json:"id"`
	Outcome Outcome      `json:"outcome"`
	Lines   []string     `json:"lines"`
	Answers []AnswerPair `json:"answers,omitempty"`
}

// A MetricChange is the value of a metric in both reports.
type MetricChange struct {
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
}

// String returns both values: a share or a mean with three decimals, a count without.
func (m MetricChange) String() string {
	format := "%s: %.3f → %.3f"
	if slices.Contains([]string{"model_calls", "tool_calls", "tokens"}, m.Name) {
		format = "%s: %.0f → %.0f"
	}
	return fmt.Sprintf(format, m.Name, *m.Before, *m.After)
}

// Compare returns what changed from one report to the next.
func Compare(before, after *Report) Comparison {
	c := Comparison{Changes: []Change{}, Turns: []ChangedCase{}, Metrics: []MetricChange{}, Runs: [2]RunInfo{before.Run, after.Run}}
	old := make(map[string]CaseResult)
	for _, r := range before.Cases {
		old[r.ID] = r
	}
	seen := make(map[string]bool)
	for _, r := range after.Cases {
		seen[r.ID] = true
		earlier, known := old[r.ID]
		was := earlier.Status
		if known && was.isBehaviour() && r.Status.isBehaviour() {
			c.compare(r.ID, earlier.Turns, r.Turns)
		}
		if was != r.Status {
			c.Changes = append(c.Changes, Change{ID: r.ID, Before: was, After: r.Status})
		}
		switch {
		case !known || was == r.Status:
		case r.Status == StatusPass:
			c.Better++
		case was == StatusPass:
			c.Worse++
		}
	}
	for _, r := range before.Cases {
		if !seen[r.ID] {
			c.Changes = append(c.Changes, Change{ID: r.ID, Before: r.Status})
		}
	}
	slices.SortFunc(c.Changes, func(a, b Change) int { return strings.Compare(a.ID, b.ID) })
	for i, m := range after.Metrics.Named() {
		if was := before.Metrics.Named()[i].Value; was != nil && m.Value != nil && show(was) != show(m.Value) {
			c.Metrics = append(c.Metrics, MetricChange{Name: m.Name, Before: was, After: m.Value})
		}
	}
	return c
}

// isBehaviour reports whether a case of this status shows what the assistant does. A drifted one was
// stopped at the first request that differs.
func (s Status) isBehaviour() bool {
	return s != StatusDrift && s != StatusInfra && s != StatusInvalid
}

// compare adds the behaviour of a case that is in both reports.
func (c *Comparison) compare(id string, was, now []TurnResult) {
	o := ChangedCase{ID: id, Lines: Changed(describe(was, true), describe(now, true))}
	o.Outcome, _, o.Answers = behaviour(was, now)
	c.add(o.Outcome)
	if len(o.Lines) > 0 {
		c.Turns = append(c.Turns, o)
	}
}

func show(f *float64) string { return fmt.Sprintf("%.6f", *f) }

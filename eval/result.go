package eval

import (
	"strings"

	"molar/eval/match"
	"molar/eval/tape"
)

// A Status is the outcome of a case.
type Status string

// The statuses.
const (
	StatusPass  Status = "pass"
	StatusFail  Status = "fail"
	StatusDrift Status = "drift"
	// StatusFlaky is a case of which only some trials passed.
	StatusFlaky Status = "flaky"
	// StatusInfra is a case that could not be judged because a service was down.
	StatusInfra Status = "infra"
	// StatusInvalid is a case that could not be run because its file, tape or config is invalid.
	StatusInvalid Status = "invalid"
	// StatusNotAsked is a case without a verdict, since no judge was asked about the answer as it is now.
	StatusNotAsked Status = "not-asked-again"
)

// A CaseResult is the result of a case. It is the same in every replay.
type CaseResult struct {
	ID     string   `json:"id"`
	Tags   []string `json:"tags,omitempty"`
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Status Status   `json:"status"`
	// Why is the first problem.
	Why string `json:"why,omitempty"`
	// Trials are the statuses of all runs, if there were several.
	Trials []Status `json:"trials,omitempty"`
	// Outcomes are the outcomes of the runs that left the tape, if there were several runs.
	Outcomes []Outcome     `json:"outcomes,omitempty"`
	Checks   []CheckResult `json:"checks"`
	// Drift is the first divergence from the tape, Follows the later ones that it caused.
	Drift   []tape.Drift `json:"drift,omitempty"`
	Follows []tape.Drift `json:"drift_follows,omitempty"`
	Turns   []TurnResult `json:"turns"`
	WhatIf  *WhatIf      `json:"what_if,omitempty"`
	Notes   []string     `json:"notes,omitempty"`
	TookMS  float64      `json:"-"`
	spent   Spent
	trials  []CaseResult // all runs, when there were several
	models  []string     // the providers and models that answered, by turn
	gate    map[string]float64
	matched []matched
}

// matched holds the data of a turn with judged calls that metrics need.
type matched struct {
	agreement *match.Agreement
	made      int
	wantsNone bool
	wantsCall bool
}

// A TurnResult is what happened in a turn.
type TurnResult struct {
	User      string       `json:"user"`
	Guardrail string       `json:"guardrail,omitempty"`
	Expected  string       `json:"expected_guardrail,omitempty"`
	Calls     []CallResult `json:"calls"`
	// Trace aligns the expected with the made calls.
	Trace      []Row  `json:"trace,omitempty"`
	Answer     string `json:"answer"`
	Error      string `json:"error,omitempty"`
	ModelCalls int    `json:"model_calls"`
	Tokens     int    `json:"tokens"`
}

// A CallResult is a call that was made, with its result.
type CallResult struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Output    string `json:"output"`
	IsError   bool   `json:"is_error,omitempty"`
}

// A Row is one line of the aligned trace; either side may be empty.
type Row struct {
	Expected string        `json:"expected,omitempty"`
	Made     string        `json:"made,omitempty"`
	Score    float64       `json:"score"`
	Faults   []match.Fault `json:"faults,omitempty"`
}

// A Report is the outcome of a run. Everything but Run is the same in every replay.
type Report struct {
	V       int     `json:"v"`
	Run     RunInfo `json:"run"`
	Summary Summary `json:"summary"`
	Metrics Metrics `json:"metrics"`
	Gates   []Gate  `json:"gates,omitempty"`
	// Groups are the causes of drift and of invalid cases, each with its cases.
	Groups []Group `json:"groups,omitempty"`
	// WhatIf counts the runs that left their tapes.
	WhatIf *WhatIfSum `json:"what_if,omitempty"`
	// Judge counts the verdicts of judges.
	Judge *JudgeSum    `json:"judge,omitempty"`
	Cases []CaseResult `json:"cases"`
}

// ReportVersion is the version of the report's JSON form.
const ReportVersion = 1

// Live reports whether the run asked a model or called a server, so that repeating it may give
// other results.
func (r *Report) Live() bool { return strings.HasPrefix(r.Run.Mode, "live") }

// RunInfo describes when and how a run was made.
type RunInfo struct {
	Started string  `json:"started"`
	TookMS  float64 `json:"took_ms"`
	Mode    string  `json:"mode"`
	Host    string  `json:"host"`
	// Models are the providers and models that answered in a live run.
	Models []string `json:"models,omitempty"`
	// CaseMS holds the durations of the cases in milliseconds, by id.
	CaseMS map[string]float64 `json:"case_ms,omitempty"`
}

// Summary counts cases by status.
type Summary struct {
	Cases int `json:"cases"`
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Drift int `json:"drift"`
	Flaky int `json:"flaky"`
	Infra int `json:"infra"`
	// Invalid counts cases that could not be run, see [StatusInvalid].
	Invalid int `json:"invalid"`
	// NotAsked counts cases without a verdict, see [StatusNotAsked].
	NotAsked int `json:"not_asked_again"`
}

// A Gate is a minimum value of a metric, and whether it was reached.
type Gate struct {
	Metric string   `json:"metric"`
	Least  float64  `json:"least"`
	Value  *float64 `json:"value"`
	OK     bool     `json:"ok"`
}

// Exit codes of a run.
const (
	ExitOK      = 0
	ExitFailed  = 1
	ExitInvalid = 2
	ExitDrift   = 3
	ExitInfra   = 4
	ExitNothing = 5
)

// ExitCode returns the exit code of the run: an invalid case takes precedence over infrastructure,
// that over drift, and drift over failed checks. An empty run is an error. StatusNotAsked counts as drift, since it
// is unknown whether the checks would pass.
func (r *Report) ExitCode() int {
	failed := r.Summary.Fail+r.Summary.Flaky > 0
	for _, g := range r.Gates {
		failed = failed || !g.OK
	}
	switch {
	case r.Summary.Cases == 0:
		return ExitNothing
	case r.Summary.Invalid > 0:
		return ExitInvalid
	case r.Summary.Infra > 0:
		return ExitInfra
	case r.Summary.Drift+r.Summary.NotAsked > 0:
		return ExitDrift
	case failed:
		return ExitFailed
	}
	return ExitOK
}

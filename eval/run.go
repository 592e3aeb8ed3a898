package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"molar/agent"
	"molar/agent/answer"
	"molar/eval/tape"
	"molar/mcpclients/transport"
	"molar/providers"
)

// Edges wrap the host's connections to models and servers: a recorder, a player, or both.
type Edges interface {
	Transport(base http.RoundTripper) http.RoundTripper
	Provider(p providers.Provider, local bool) providers.Provider
	Dial(inner transport.Dialer) transport.Dialer
}

// A Host is the product, opened for one case with an empty store.
type Host interface {
	Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error]
	// Settle runs the background work that follows a turn: summaries.
	Settle(ctx context.Context) error
	// Ready waits for the servers. Its error names a missing one.
	Ready(ctx context.Context) error
	Close()
}

// An Opener opens a host for a case over the edges. The player's tape names the servers to
// declare; the player answers in their place. The opener reports to the player how the config
// differs from the recording.
type Opener func(ctx context.Context, c *Case, of *tape.Player, edges Edges) (Host, error)

// Mode selects which parts of a run are live.
type Mode struct {
	LiveModel, LiveTools bool
	// FromDrift selects who answers from the first request that differs from the tape:
	// [FromDriftLive] or [FromDriftOffline]. If empty, the run stops there.
	FromDrift string
}

// IsLive reports whether the mode contacts real models or servers.
func (m Mode) IsLive() bool { return m.LiveModel || m.LiveTools || m.FromDrift == FromDriftLive }

// String returns the mode's name in reports.
func (m Mode) String() string {
	switch {
	case m.FromDrift == FromDriftLive:
		return "live from drift"
	case m.FromDrift != "":
		return "offline from drift"
	case m.LiveModel && m.LiveTools:
		return "live"
	case m.LiveModel:
		return "live-model"
	case m.LiveTools:
		return "live-tools"
	}
	return "replay"
}

// Config configures a [Runner].
type Config struct {
	Open Opener
	// First returns the header of the first tape of a case that has none. If nil, each case needs a tape.
	First func(c *Case) (tape.Header, error)
	// Close, if set, closes what the hosts share.
	Close func()
	Mode  Mode
	// Skip names the servers that are real in every mode: the bundled memory.
	Skip []string
	// Parallel is the number of cases that run at once; 0 means one.
	Parallel int
	// Trials, if positive, overrides the cases' own number.
	Trials int
	// Faults replace results of tools in every case. The mode must ask a model afterwards.
	Faults []tape.Fault
	// Judge returns the route whose small model decides the checks that need a judge. If it is nil, only
	// the verdicts of the tapes count.
	Judge func(ctx context.Context, c *Case) (providers.Route, error)
	// AskJudge asks the judge of every check, whatever the tapes have.
	AskJudge bool
	// Redactor must be the one of the recording.
	Redactor *tape.Redactor
	// Progress is called after each case, never concurrently.
	Progress func(done, total int, r CaseResult)
	Version  string
}

// A Runner runs cases.
type Runner struct {
	cfg   Config
	canon *tape.Canon
}

// New validates the config and returns a runner.
func New(cfg Config) (*Runner, error) {
	if cfg.Open == nil {
		return nil, errors.New("runner needs an opener")
	}
	if cfg.AskJudge && cfg.Judge == nil {
		return nil, errors.New("runner needs a judge to ask")
	}
	if cfg.Redactor == nil { // shared by all cases
		cfg.Redactor = tape.NewRedactor()
	}
	cfg.Parallel = max(cfg.Parallel, 1)
	return &Runner{cfg: cfg, canon: tape.NewCanon()}, nil
}

// Close closes what the hosts share.
func (r *Runner) Close() {
	if r.cfg.Close != nil {
		r.cfg.Close()
	}
}

// Run runs all cases and returns the report. An invalid case, tape or config of a case is a
// result with [StatusInvalid].
func (r *Runner) Run(ctx context.Context, cases []Case) (*Report, error) {
	started := time.Now()
	results, err := r.all(ctx, cases)
	if err != nil {
		return nil, err
	}
	nameAll(results)
	return r.report(started, results), nil
}

// all runs all cases, each on a store of its own.
func (r *Runner) all(ctx context.Context, cases []Case) ([]CaseResult, error) {
	results := make([]CaseResult, len(cases))
	var group errgroup.Group
	group.SetLimit(r.cfg.Parallel)
	var mu sync.Mutex
	done := 0
	for i := range cases {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			result, err := r.Case(ctx, &cases[i])
			if why, ok := errors.AsType[*InvalidError](err); ok {
				result, err = invalidResult(&cases[i], why), nil
			}
			results[i] = result
			mu.Lock()
			defer mu.Unlock()
			done++
			if r.cfg.Progress != nil && err == nil {
				r.cfg.Progress(done, len(cases), result)
			}
			return err
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, err
}

// nameAll gives each result without an id, or with that of an earlier one, its position as its id.
func nameAll(results []CaseResult) {
	seen := make(map[string]bool)
	for i := range results {
		c := &results[i]
		if c.ID == "" || seen[c.ID] {
			c.ID = fmt.Sprintf("%s:%d", c.File, c.Line)
		}
		seen[c.ID] = true
	}
}

func (r *Runner) report(started time.Time, results []CaseResult) *Report {
	rep := newReport(results)
	rep.Run = RunInfo{
		Started: started.UTC().Format(time.RFC3339), TookMS: msSince(started),
		Mode: r.cfg.Mode.String(), Host: r.cfg.Version, CaseMS: make(map[string]float64),
	}
	for _, c := range results {
		rep.Run.CaseMS[c.ID] = c.TookMS
		for _, by := range c.models {
			if r.cfg.Mode.IsLive() && !slices.Contains(rep.Run.Models, by) {
				rep.Run.Models = append(rep.Run.Models, by)
			}
		}
	}
	if r.cfg.AskJudge {
		rep.Run.Mode += ", judged live"
	}
	slices.Sort(rep.Run.Models)
	return rep
}

// newReport summarizes results.
func newReport(results []CaseResult) *Report {
	rep := &Report{V: ReportVersion, Cases: results, Metrics: measure(results)}
	if rep.Cases == nil {
		rep.Cases = []CaseResult{}
	}
	for _, c := range results {
		rep.Summary.count(c.Status)
	}
	rep.Gates, rep.Groups, rep.WhatIf, rep.Judge = gates(results), group(results), whatIfs(results), sumVerdicts(results)
	return rep
}

func (s *Summary) count(status Status) {
	s.Cases++
	for _, part := range s.parts() {
		if part.Status == status {
			*part.n++
		}
	}
}

// A part is one status with its number of cases.
type part struct {
	Status Status
	Word   string
	n      *int
}

// N returns the number of cases.
func (p part) N() int { return *p.n }

// parts returns all statuses in the order in which they are shown.
func (s *Summary) parts() []part {
	return []part{
		{StatusPass, "passed", &s.Pass},
		{StatusFail, "failed", &s.Fail},
		{StatusDrift, "drifted", &s.Drift},
		{StatusFlaky, "flaky", &s.Flaky},
		{StatusInfra, "not judged", &s.Infra},
		{StatusInvalid, "invalid", &s.Invalid},
		{StatusNotAsked, "not asked again", &s.NotAsked},
	}
}

// gates checks each metric over the cases that set a gate for it.
func gates(results []CaseResult) []Gate {
	type key struct {
		metric string
		least  float64
	}
	groups := make(map[key][]CaseResult)
	for _, c := range results {
		for metric, least := range c.gate {
			groups[key{metric, least}] = append(groups[key{metric, least}], c)
		}
	}
	var all []Gate
	for k, group := range groups {
		m := measure(group)
		value, _ := m.Value(k.metric)
		all = append(all, Gate{Metric: k.metric, Least: k.least, Value: value, OK: value != nil && *value >= k.least})
	}
	slices.SortFunc(all, func(a, b Gate) int {
		if c := strings.Compare(a.Metric, b.Metric); c != 0 {
			return c
		}
		return int(a.Least*1e6) - int(b.Least*1e6)
	})
	return all
}

func msSince(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

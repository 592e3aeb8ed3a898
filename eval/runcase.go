package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/eval/match"
	"molar/eval/tape"
	"molar/providers"
	"molar/schemas"
)

// Case runs one case as many times as its trials. It returns the result of the first run that
// did not pass, else of the last one.
func (r *Runner) Case(ctx context.Context, c *Case) (CaseResult, error) {
	trials := max(c.Trials, 1)
	if r.cfg.Trials > 0 {
		trials = r.cfg.Trials
	}
	var returned CaseResult
	var statuses []Status
	var all []CaseResult
	for range trials {
		started := time.Now()
		result, err := r.runOnce(ctx, c)
		if err != nil {
			return result, err
		}
		result.TookMS = msSince(started)
		if len(statuses) == 0 || returned.Status == StatusPass {
			returned = result
		}
		statuses, all = append(statuses, result.Status), append(all, result)
	}
	if trials > 1 {
		returned.Trials, returned.trials = statuses, all
		for _, run := range all {
			if run.WhatIf != nil {
				returned.Outcomes = append(returned.Outcomes, run.WhatIf.Outcome)
			}
		}
		if returned.Status == StatusFail && slices.Contains(statuses, StatusPass) {
			returned.Status = StatusFlaky
		}
	}
	return returned, nil
}

// errNoTape is the cause of the error of a case without a tape.
var errNoTape = errors.New("run it with real services: molar eval run --live; or record its tape: molar eval accept --live")

// ReadTape reads and validates the case's tape.
func (c *Case) ReadTape() (*tape.Tape, error) {
	if c.Err != nil {
		return nil, c.Err
	}
	name := c.TapeFile()
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, invalid("%s:%d: case %q has no tape: %w", c.File, c.Line, c.ID, errNoTape)
	case err != nil:
		return nil, c.Invalid(fmt.Errorf("the tape is unreadable: %w", err))
	}
	t, err := tape.Read(name, data)
	if err != nil {
		return nil, &InvalidError{err}
	}
	if t.Header.Case != "" && t.Header.Case != c.ID {
		return nil, invalid("%s:1: the tape is of case %q, not of %q (%s:%d)", name, t.Header.Case, c.ID, c.File, c.Line)
	}
	return t, nil
}

// startsAnew reports whether nothing of what [Case.ReadTape] returned applies to a run: the model is live and
// there is no tape, or all is live and the tape is of another program, which the case's config replaces.
func (m Mode) startsAnew(c *Case, t *tape.Tape, err error) bool {
	foreign := err == nil && t.Header.Imported != "" && c.Config != ""
	return m.LiveModel && (errors.Is(err, errNoTape) || foreign && m.LiveTools)
}

// tapeOf returns the tape of a case, which is empty if the run starts anew.
func (r *Runner) tapeOf(c *Case) (*tape.Tape, error) {
	t, err := c.ReadTape()
	if r.cfg.First == nil || !r.cfg.Mode.startsAnew(c, t, err) {
		return t, err
	}
	header, err := r.cfg.First(c)
	if err != nil {
		return nil, err
	}
	return &tape.Tape{Name: c.TapeFile(), Header: header}, nil
}

// Open opens the host of a case over its tape. The caller closes it.
func (r *Runner) Open(ctx context.Context, c *Case) (Host, *tape.Player, error) {
	return r.open(ctx, c, false, func(p *tape.Player) (Edges, error) { return p, nil })
}

// open opens the host of a case over the edges that wrap returns for the tape's player. With
// serve, the tape's answer is served even to a request that differs.
func (r *Runner) open(ctx context.Context, c *Case, serve bool, wrap func(*tape.Player) (Edges, error)) (Host, *tape.Player, error) {
	t, err := r.tapeOf(c)
	if err != nil {
		return nil, nil, err
	}
	player := tape.NewPlayer(tape.PlayerConfig{
		Tape: t, LiveModel: r.cfg.Mode.LiveModel, LiveTools: r.cfg.Mode.LiveTools,
		Report: serve, Skip: r.cfg.Skip, Redactor: r.cfg.Redactor, Canon: r.canon,
		Faults: r.cfg.Faults,
	})
	edges, err := wrap(player)
	if err != nil {
		return nil, nil, err
	}
	host, err := r.cfg.Open(ctx, c, player, edges)
	return host, player, err
}

// Converse runs the turns of a case with run, and calls after after each.
func (c *Case) Converse(ctx context.Context, run tape.Run, after func(s *tape.Turn) error) ([]tape.Turn, error) {
	var all []tape.Turn
	for i := range c.Turns {
		s := tape.Turn{User: c.Turns[i].User}
		for event, err := range run(ctx, c.turn(i)) {
			s.Event(event, err)
		}
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if err := after(&s); err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// settle makes the summary that the tape has after its last turn.
func settle(ctx context.Context, host Host, player *tape.Player) error {
	if !player.Summarises() {
		return nil
	}
	if err := host.Settle(player.Settle(ctx)); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

// runOnce runs a case once.
func (r *Runner) runOnce(ctx context.Context, c *Case) (CaseResult, error) {
	result := newResult(c)
	host, player, err := r.Open(ctx, c)
	if err != nil {
		return result, err
	}
	defer host.Close()
	result.noteTorn(player.Tape())
	unavailable := func(err error) (CaseResult, error) {
		result.Status, result.Why, result.spent = StatusInfra, err.Error(), spentBy(player)
		return result, nil
	}
	if r.cfg.Mode.LiveTools {
		if err := host.Ready(ctx); err != nil {
			return unavailable(err)
		}
	}
	seen, err := c.Converse(ctx, player.Over(host.Run), func(s *tape.Turn) error {
		if r.cfg.Mode.IsLive() && isInfra(s.Err) {
			return s.Err
		}
		if err := settle(ctx, host, player); err != nil {
			result.Notes = append(result.Notes, err.Error())
		}
		return nil
	})
	switch {
	case isInfra(err):
		return unavailable(err)
	case err != nil:
		return result, err
	}
	result.judge(c, seen)
	result.redact(r.cfg.Redactor)
	if mode := r.cfg.Mode; !mode.LiveModel || !mode.LiveTools { // else nothing comes from the tape
		result.Drift, result.Follows = player.Finish()
	}
	if len(r.cfg.Faults) > 0 && !player.Faulted() {
		result.Notes = append(result.Notes, "no fault hit a call")
	}
	left, _, _ := player.Left()
	result.spent = spentBy(player)
	if len(result.Drift) == 0 || left { // else the answer is unknown
		if _, err := r.judging(c, player.Tape()).decide(ctx, &result, seen); err != nil {
			return result, err
		}
	}
	first := player.Tape().IsEmpty()
	switch {
	case first:
		result.failUnchecked(c)
	case left || r.cfg.Mode.LiveModel:
		result.failUnjudged(c, turnResults(player.Tape().Turns), result.Turns)
	}
	if left || r.cfg.Mode.LiveModel && !first {
		w := &WhatIf{Spent: result.spent}
		if !left {
			w.Spent = result.cost()
		}
		w.Outcome, w.Changed, w.Answers = behaviour(turnResults(player.Tape().Turns), result.Turns)
		result.WhatIf = w
	}
	result.conclude(left) // then drift is expected
	if left && !player.Faulted() && result.Status == StatusPass && result.WhatIf.Outcome == OutcomeOtherCalls && score(ctx, c, player.Tape()).Status != StatusFail {
		result.Status, result.Why = StatusFail, "other calls than on the tape"
	}
	return result, nil
}

// spentBy returns what the calls after the tape used.
func spentBy(player *tape.Player) Spent {
	_, calls, usage := player.Left()
	return Spent{ModelCalls: calls, Tokens: usage.PromptTokens + usage.CompletionTokens, Cost: player.Cost()}
}

// cost returns the totals of all turns, whose cost is not known.
func (r *CaseResult) cost() (s Spent) {
	for _, t := range r.Turns {
		s.ModelCalls, s.Tokens = s.ModelCalls+t.ModelCalls, s.Tokens+t.Tokens
	}
	return s
}

// turn returns the i-th turn as the host receives it.
func (c *Case) turn(i int) agent.Turn {
	t := agent.Turn{
		ID: turnID(i), Assistant: c.Assistant, Place: agent.Place{ConversationID: "chat_eval"},
		Messages: []schemas.Message{schemas.Text(schemas.RoleUser, c.Turns[i].User)},
	}
	if in := c.Input; in != nil {
		t.System = in.System
		if len(in.Messages) > 0 && i == 0 {
			t.Stateless = true
			var earlier []schemas.Message
			for _, m := range in.Messages {
				earlier = append(earlier, schemas.Text(schemas.Role(m.Role), m.Content))
			}
			t.Messages = append(earlier, t.Messages...)
		}
	}
	return t
}

// turnID returns a UUID that is the same in every replay.
func turnID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1) }

// isInfra reports whether an error means that a service was unavailable, rather than that the
// host misbehaved.
func isInfra(err error) bool {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		switch e.Kind {
		case providers.KindUnavailable, providers.KindTimeout, providers.KindQuota, providers.KindBudget, providers.KindAuth:
			return true
		}
	}
	return errors.Is(err, agent.ErrUnavailable)
}

func newResult(c *Case) CaseResult {
	return CaseResult{ID: c.ID, Tags: c.Tags, File: c.File, Line: c.Line, Checks: []CheckResult{}, Turns: []TurnResult{}, gate: c.Gate}
}

// invalidResult returns the result of a case that cannot be run.
func invalidResult(c *Case, why *InvalidError) CaseResult {
	r := newResult(c)
	r.Status, r.Why = StatusInvalid, strings.ReplaceAll(why.Error(), "\n", "; ")
	return r
}

func (r *CaseResult) noteTorn(t *tape.Tape) {
	if t.Torn != nil {
		r.Notes = append(r.Notes, t.Torn.Error())
	}
}

// score grades a tape without running anything.
func score(ctx context.Context, c *Case, t *tape.Tape) CaseResult {
	result := newResult(c)
	result.noteTorn(t)
	result.judge(c, t.Turns)
	_, _ = (&judging{c: c, tape: t}).decide(ctx, &result, t.Turns) // it asks nobody
	result.conclude(false)
	return result
}

// judge runs the checks of all turns.
func (r *CaseResult) judge(c *Case, seen []tape.Turn) {
	for i := range c.Turns {
		if i >= len(seen) {
			r.Checks = append(r.Checks, CheckResult{Turn: i + 1, Name: "turn", Text: fmt.Sprintf("the tape has %d turns", len(seen))})
			none := &tape.Turn{User: c.Turns[i].User}
			r.addTurn(c, i, none, c.compare(i, none))
			continue
		}
		s := &seen[i]
		agreement := c.compare(i, s)
		r.Checks = append(r.Checks, c.grade(i, s, seen[:i], agreement)...)
		r.addTurn(c, i, s, agreement)
	}
}

// compare compares the calls of a turn with the expected ones. It returns nil if calls are not
// judged.
func (c *Case) compare(i int, s *tape.Turn) *match.Agreement {
	if c.plans[i] == nil {
		return nil
	}
	return new(c.plans[i].Compare(s.MatchCalls()))
}

// addTurn adds the result of a turn.
func (r *CaseResult) addTurn(c *Case, i int, s *tape.Turn, a *match.Agreement) {
	t := turnResult(s)
	t.Expected = c.Turns[i].Expect.Guardrail
	if plan := c.plans[i]; plan != nil {
		t.Trace = trace(plan.Items, t.Calls, a)
		wants := slices.ContainsFunc(plan.Items, func(e match.Expected) bool { return e.Min > 0 || e.Max == 0 })
		r.matched = append(r.matched, matched{agreement: a, made: len(s.Calls), wantsNone: plan.NoCall, wantsCall: wants})
	}
	r.Turns = append(r.Turns, t)
	if s.By != "" {
		r.models = append(r.models, s.By)
	}
}

// turnResult converts a turn to its form in reports.
func turnResult(s *tape.Turn) TurnResult {
	t := TurnResult{
		User: s.User, Guardrail: s.Guardrail, Answer: s.Answer,
		Error: s.Sum.Error, ModelCalls: s.Sum.ModelCalls, Tokens: s.Sum.Usage.TotalTokens, Calls: []CallResult{},
	}
	for _, call := range s.Calls {
		t.Calls = append(t.Calls, CallResult{
			Name: call.Call.Function.Name, Arguments: match.CanonicalJSON([]byte(call.Call.Function.Arguments)),
			Output: match.CanonicalJSON(call.Output), IsError: call.IsError,
		})
	}
	return t
}

// trace aligns expected with made calls, in the order in which they were made; missing calls are
// at their expected place.
func trace(items []match.Expected, calls []CallResult, a *match.Agreement) []Row {
	byMade := make(map[int]match.Pair)
	for _, p := range a.Pairs {
		byMade[p.Made] = p
	}
	missing := slices.Clone(a.Missing)
	var rows []Row
	flush := func(before int) {
		for len(missing) > 0 && missing[0] < before {
			rows = append(rows, Row{Expected: items[missing[0]].String()})
			missing = missing[1:]
		}
	}
	for j, call := range calls {
		row := Row{Made: call.Name + " " + call.Arguments}
		if p, paired := byMade[j]; paired {
			flush(p.Expected)
			row.Expected, row.Score, row.Faults = items[p.Expected].String(), round(p.Score), p.Faults
		}
		rows = append(rows, row)
	}
	flush(len(items))
	return rows
}

// conclude sets the status: drift takes precedence over failed checks, unless drift is expected, and
// a failed check over one without a verdict.
func (r *CaseResult) conclude(driftExpected bool) {
	r.Status = StatusPass
	for _, c := range r.Checks {
		if !c.OK && !c.isOpen() {
			r.Status, r.Why = StatusFail, fmt.Sprintf("turn %d, %s: %s", c.Turn, c.Name, c.Text)
			break
		}
	}
	for _, c := range r.Checks {
		switch {
		case r.Status == StatusFail || r.Status == StatusInfra || !c.isOpen():
		case c.Verdict.Result == VerdictDown:
			r.Status, r.Why = StatusInfra, fmt.Sprintf("turn %d, %s: %s: %s", c.Turn, c.Name, c.Verdict.word(), c.Text)
		case r.Status == StatusPass:
			r.Status, r.Why = StatusNotAsked, fmt.Sprintf("turn %d, %s: %s: %s", c.Turn, c.Name, c.Verdict.word(), c.Text)
		}
	}
	if len(r.Drift) > 0 && !driftExpected {
		d := r.Drift[0]
		r.Status, r.Why = StatusDrift, fmt.Sprintf("%s in turn %d, %s: the tape has %s, now %s", d.Class, max(d.Turn, 1), d.Where, d.Want, d.Got)
	}
}

package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"molar/agent"
	"molar/eval/edge"
	"molar/eval/match"
	"molar/eval/tape"
	"molar/providers"
	"molar/schemas"
)

// Case runs one case as often as it asks. The result is of the first run that did not
// pass, else of the last one.
func (r *Runner) Case(ctx context.Context, c *Case) (CaseResult, error) {
	trials := max(c.Trials, 1)
	if r.cfg.Trials > 0 {
		trials = r.cfg.Trials
	}
	var kept CaseResult
	var statuses []Status
	var all []CaseResult
	for range trials {
		started := r.cfg.Now()
		result, err := r.once(ctx, c)
		if err != nil {
			return result, err
		}
		result.TookMS = msSince(r.cfg.Now, started)
		if len(statuses) == 0 || kept.Status == StatusPass {
			kept = result
		}
		statuses, all = append(statuses, result.Status), append(all, result)
	}
	if trials > 1 {
		kept.Trials, kept.trials = statuses, all
		if kept.Status == StatusFail && slices.Contains(statuses, StatusPass) {
			kept.Status = StatusFlaky
		}
	}
	kept.gate = c.Gate
	return kept, nil
}

// openTape opens the tape of a case. A live run needs none.
func (r *Runner) openTape(c *Case) (*edge.Player, *os.File, error) {
	name := c.TapeFile()
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, invalid("%s:%d: case %q has no tape: %w; record it, or run it with --live", c.File, c.Line, c.ID, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	player, err := edge.NewPlayer(edge.PlayerConfig{
		Name: name, File: file, Size: info.Size(), LiveModel: r.cfg.Mode.LiveModel, LiveTools: r.cfg.Mode.LiveTools,
		Report: c.Policy.OnMiss == "report", Skip: r.cfg.Skip, Redactor: r.cfg.Redactor, Canon: r.canon,
		Faults: append(slices.Clone(c.faults), r.cfg.Faults...),
	})
	if err != nil {
		return nil, nil, errors.Join(&InvalidError{err}, file.Close())
	}
	if err := c.owns(name, player.Header()); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return player, file, nil
}

// Open opens the host of a case over its tape. The caller calls done.
func (r *Runner) Open(ctx context.Context, c *Case) (host Host, player *edge.Player, done func(), err error) {
	player, file, err := r.openTape(c)
	if err != nil {
		return nil, nil, nil, err
	}
	if host, err = r.cfg.Open(ctx, c, player, player); err != nil {
		return nil, nil, nil, errors.Join(err, file.Close())
	}
	return host, player, func() {
		host.Close()
		_ = file.Close() // it was only read
	}, nil
}

// once runs a case one time.
func (r *Runner) once(ctx context.Context, c *Case) (CaseResult, error) {
	result := CaseResult{ID: c.ID, Tags: c.Tags, File: c.File, Line: c.Line, Checks: []CheckResult{}, Turns: []TurnResult{}}
	host, player, done, err := r.Open(ctx, c)
	if err != nil {
		return result, err
	}
	defer done()
	if torn := player.Story().Torn; torn != nil {
		result.Notes = append(result.Notes, torn.Error())
	}
	if r.cfg.Mode.LiveTools {
		if err := host.Ready(ctx); err != nil {
			result.Status, result.Why = StatusInfra, err.Error()
			return result, nil
		}
	}
	var seen []tape.Seen
	for i := range c.Turns {
		s, infra := r.turn(ctx, c, i, host, player)
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		if infra != nil && r.cfg.Mode.Goes() {
			result.Status, result.Why = StatusInfra, infra.Error()
			return result, nil
		}
		checks, agreement := c.grade(i, &s, seen)
		result.Checks = append(result.Checks, checks...)
		result.add(c, i, &s, agreement)
		if s.By != "" {
			result.by = append(result.by, s.By)
		}
		seen = append(seen, s)
		if player.Summarises() {
			if err := host.Settle(player.Settle(ctx)); err != nil {
				result.Notes = append(result.Notes, "summary: "+err.Error())
			}
		}
	}
	result.Drift, result.Follows = player.Finish()
	unfired := player.Unfired()
	for _, f := range unfired {
		result.Notes = append(result.Notes, fmt.Sprintf("fault %s:%s=%s hit nothing", f.Edge, f.Glob, f.Kind))
	}
	result.conclude(len(r.cfg.Faults)+len(c.faults) > len(unfired))
	if r.cfg.Mode.FromDrift == "" {
		return result, nil
	}
	if left, _, _ := player.Left(); left {
		result.conclude(true) // by its checks: the drift is what was asked about
	}
	return result, result.whatIf(c, player)
}

// turn runs one turn of a case.
func (r *Runner) turn(ctx context.Context, c *Case, i int, host Host, player *edge.Player) (s tape.Seen, infra error) {
	s.User = c.Turns[i].User
	for event, err := range player.Turn(ctx, c.turn(i), host.Run) {
		s.Event(event, err)
		if err != nil && isInfra(err) {
			infra = err
		}
	}
	return s, infra
}

// turn is what the host is asked.
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

// turnID is a UUID that is the same in every replay.
func turnID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1) }

// isInfra reports whether a service was down, rather than the host wrong.
func isInfra(err error) bool {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		switch e.Kind {
		case providers.KindUnavailable, providers.KindTimeout, providers.KindQuota, providers.KindAuth:
			return true
		}
	}
	return errors.Is(err, agent.ErrUnavailable)
}

// add notes what happened in a turn.
func (r *CaseResult) add(c *Case, i int, s *tape.Seen, a *match.Agreement) {
	t := turnOf(s)
	t.Expected = c.Turns[i].Expect.Guardrail
	if plan := c.plans[i]; plan != nil {
		t.Trace = trace(c, i, &t, a)
		wants := len(plan.Items) > 0 && slices.ContainsFunc(plan.Items, func(e match.Expected) bool { return e.Min > 0 || e.Max == 0 })
		r.matched = append(r.matched, matched{agreement: a, made: len(s.Calls), wantsNone: plan.NoCall, wantsCall: wants})
	}
	r.Turns = append(r.Turns, t)
}

// turnOf is what was seen of a turn, as reports have it.
func turnOf(s *tape.Seen) TurnResult {
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

// trace aligns expected with made calls: in the order in which they were made, with
// the missing ones where they were expected.
func trace(c *Case, i int, t *TurnResult, a *match.Agreement) []Row {
	items := c.plans[i].Items
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
	for j, call := range t.Calls {
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

// conclude finds the status: drift before failed checks. Where a fault hit, drift is what was asked for, and only the checks count.
func (r *CaseResult) conclude(faulted bool) {
	r.Status = StatusPass
	for _, c := range r.Checks {
		if !c.OK {
			r.Status, r.Why = StatusFail, fmt.Sprintf("turn %d, %s: %s", c.Turn, c.Name, c.Text)
			break
		}
	}
	if len(r.Drift) > 0 && !faulted {
		d := r.Drift[0]
		r.Status, r.Why = StatusDrift, fmt.Sprintf("%s in turn %d, %s: the tape has %s, now %s", d.Class, max(d.Turn, 1), d.Where, d.Want, d.Got)
	}
}

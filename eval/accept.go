package eval

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"slices"

	"molar/agent"
	"molar/eval/drift"
	"molar/eval/edge"
	"molar/eval/tape"
	"molar/mcpclients"
	"molar/providers"
)

// stacked is a recorder over a player: what the tape answers is recorded anew, with
// today's requests.
type stacked struct {
	rec    *edge.Recorder
	player *edge.Player
}

func (s stacked) Transport(base http.RoundTripper) http.RoundTripper {
	return s.rec.Transport(s.player.Transport(base))
}

func (s stacked) Provider(p providers.Provider, local bool) providers.Provider {
	return s.rec.Provider(s.player.Provider(p, local), local)
}

func (s stacked) Dial(inner mcpclients.Dialer) mcpclients.Dialer {
	return s.rec.Dial(s.player.Dial(inner))
}

// A Fresh is a case that was run once more, and recorded on the way.
type Fresh struct {
	// Causes and Follows are what drifted from the tape.
	Causes, Follows []drift.Drift
	Seen            []tape.Seen
	// Unfit says why the recording must not take the tape's place; empty when it may.
	Unfit []string
	// Failed are the checks of the case that do not hold in the recording.
	Failed []CheckResult
}

// Again runs a case once, serves the tape's answers whatever is asked, and records the
// run to w.
func (r *Runner) Again(ctx context.Context, c *Case, w io.Writer) (*Fresh, error) {
	lenient := *c
	lenient.Policy.OnMiss = "report"
	player, file, err := r.openTape(&lenient)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	header := player.Header()
	header.Case, header.Host = c.ID, r.cfg.Version
	rec, err := edge.NewRecorder(edge.RecorderConfig{To: w, Header: header, Redactor: r.cfg.Redactor, Skip: r.cfg.Skip})
	if err != nil {
		return nil, err
	}
	host, err := r.cfg.Open(ctx, c, player, stacked{rec, player})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	fresh := &Fresh{}
	if r.cfg.Mode.LiveTools {
		if err := host.Ready(ctx); err != nil {
			fresh.Unfit = append(fresh.Unfit, err.Error())
			return fresh, nil
		}
	}
	run := func(ctx context.Context, t agent.Turn) iter.Seq2[agent.Event, error] {
		return player.Turn(ctx, t, host.Run)
	}
	for i := range c.Turns {
		s := tape.Seen{User: c.Turns[i].User}
		for event, err := range rec.Turn(ctx, c.turn(i), run) {
			s.Event(event, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		checks, _ := c.grade(i, &s, fresh.Seen)
		fresh.Failed = append(fresh.Failed, slices.DeleteFunc(checks, func(r CheckResult) bool { return r.OK })...)
		fresh.Seen = append(fresh.Seen, s)
		if player.Summarises() {
			if err := host.Settle(player.Settle(ctx)); err != nil {
				fresh.Unfit = append(fresh.Unfit, fmt.Sprintf("turn %d: summary: %v", i+1, err))
			}
		}
	}
	fresh.Causes, fresh.Follows = player.Finish()
	fresh.Unfit = append(fresh.Unfit, c.Unfit(fresh.Seen)...)
	if r.cfg.Mode != (Mode{}) && !c.expectsError() { // a tape's own errors were wanted once
		fresh.Unfit = append(fresh.Unfit, rec.Failures()...)
	}
	fresh.Unfit = append(fresh.Unfit, player.Missed()...)
	return fresh, rec.Err()
}

// Unfit names the turns that failed and were not meant to: nothing that should be kept
// as the truth. c may have fewer turns than were seen.
func (c *Case) Unfit(seen []tape.Seen) []string {
	var why []string
	for i, s := range seen {
		if s.Sum.Error != "" && (i >= len(c.Turns) || c.Turns[i].Expect.Error == "") {
			why = append(why, fmt.Sprintf("turn %d failed: %s", i+1, s.Sum.Error))
		}
	}
	return why
}

// expectsError reports whether a turn is meant to fail.
func (c *Case) expectsError() bool {
	return slices.ContainsFunc(c.Turns, func(t Turn) bool { return t.Expect.Error != "" })
}

// Expected writes what was seen as the expectations of the case's turns.
func (c *Case) Expected(seen []tape.Seen) {
	for i := range min(len(seen), len(c.Turns)) {
		c.Turns[i].Expect = Observed(seen[i])
	}
}

// owns refuses the tape of another case.
func (c *Case) owns(name string, h tape.Header) error {
	if h.Case != "" && h.Case != c.ID {
		return invalid("%s:1: the tape is of case %q, not of %q (%s:%d)", name, h.Case, c.ID, c.File, c.Line)
	}
	return nil
}

// Story reads what the case's tape tells.
func (c *Case) Story() (*tape.Story, error) {
	name := c.TapeFile()
	file, err := os.Open(name)
	if err != nil {
		return nil, invalid("%s:%d: case %q has no tape: %w", c.File, c.Line, c.ID, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	story, err := tape.Tell(name, file)
	if err != nil {
		return nil, &InvalidError{err}
	}
	return story, c.owns(name, story.Header)
}

package eval

import (
	"context"
	"io"
	"iter"
	"net/http"
	"os"

	"molar/agent"
	"molar/eval/tape"
	"molar/mcpclients"
	"molar/providers"
)

// stacked is a recorder over a player: what the tape answers is recorded anew, with
// today's requests.
type stacked struct {
	rec    *tape.Recorder
	player *tape.Player
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

// Again runs a case once, serves the tape's answers whatever is asked, and records the
// run to w. It returns what drifted and what was seen.
func (r *Runner) Again(ctx context.Context, c *Case, w io.Writer) (causes, follows []tape.Drift, seen []tape.Seen, err error) {
	lenient := *c
	lenient.Policy.OnMiss = "report"
	player, file, err := r.openTape(&lenient)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	header := player.Header()
	header.Case, header.Host = c.ID, r.cfg.Version
	rec, err := tape.NewRecorder(tape.RecorderConfig{To: w, Header: header, Redactor: r.cfg.Redactor, Skip: r.cfg.Skip})
	if err != nil {
		return nil, nil, nil, err
	}
	host, err := r.cfg.Open(ctx, c, header, player.Servers(), stacked{rec, player})
	if err != nil {
		return nil, nil, nil, err
	}
	defer host.Close()
	run := func(ctx context.Context, t agent.Turn) iter.Seq2[agent.Event, error] {
		return player.Turn(ctx, t, host.Run)
	}
	for i := range c.Turns {
		s := tape.Seen{User: c.Turns[i].User}
		for event, err := range rec.Turn(ctx, c.turn(i), run) {
			s.Event(event, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, context.Cause(ctx)
		}
		if player.Summarises() {
			if err := host.Settle(player.Settle(ctx)); err != nil {
				return nil, nil, nil, err
			}
		}
		seen = append(seen, s)
	}
	causes, follows = player.Finish()
	return causes, follows, seen, rec.Err()
}

// Expected writes what was seen as the expectations of the case's turns.
func (c *Case) Expected(seen []tape.Seen) {
	for i := range min(len(seen), len(c.Turns)) {
		c.Turns[i].Expect = Observed(seen[i])
	}
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
	return story, nil
}

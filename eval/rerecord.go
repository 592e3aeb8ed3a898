package eval

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"

	"molar/agent"
	"molar/agent/answer"
	"molar/eval/tape"
	"molar/mcpclients/transport"
	"molar/providers"
)

// stacked is a recorder over a player: what the tape answers is recorded anew, with
// today's requests.
type rerecorder struct {
	rec    *tape.Recorder
	player *tape.Player
}

func (s rerecorder) Transport(base http.RoundTripper) http.RoundTripper {
	return s.rec.Transport(s.player.Transport(base))
}

func (s rerecorder) Provider(p providers.Provider, local bool) providers.Provider {
	return s.rec.Provider(s.player.Provider(p, local), local)
}

func (s rerecorder) Dial(inner transport.Dialer) transport.Dialer {
	return s.rec.Dial(s.player.Dial(inner))
}

// A Fresh is a case that was run once more, and recorded on the way.
type Rerecording struct {
	// Causes are what drifted from the tape before, Was and Now what happens.
	Causes   []tape.Drift
	Was, Now []tape.Turn
	// Unfit says why the recording must not take the tape's place; empty when it may.
	Rejected []string
	// Failed are the checks of the case that do not hold in the recording.
	Failed []CheckResult
}

// Again runs a case once, serves the tape's answers whatever is asked, and records the
// run to w.
func (r *Runner) Rerecord(ctx context.Context, c *Case, w io.Writer) (*Rerecording, error) {
	lenient := *c
	lenient.Policy.OnMiss = "report"
	var rec *tape.Recorder
	host, player, err := r.open(ctx, &lenient, func(p *tape.Player) (edges Edges, err error) {
		header := p.Tape().Header
		header.Case, header.Host = c.ID, r.cfg.Version
		rec, err = tape.NewRecorder(tape.RecorderConfig{To: w, Header: header, Redactor: r.cfg.Redactor, Skip: r.cfg.Skip})
		return rerecorder{rec, p}, err
	})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	fresh := &Rerecording{Was: player.Tape().Turns}
	if r.cfg.Mode.LiveTools {
		if err := host.Ready(ctx); err != nil {
			fresh.Rejected = append(fresh.Rejected, err.Error())
			return fresh, nil
		}
	}
	run := func(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
		return rec.Turn(ctx, t, player.Over(host.Run))
	}
	fresh.Now, err = c.Converse(ctx, run, func(*tape.Turn) error {
		if err := settle(ctx, host, player); err != nil {
			fresh.Rejected = append(fresh.Rejected, err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	result := newResult(c)
	result.judge(c, fresh.Now)
	fresh.Failed = slices.DeleteFunc(result.Checks, func(r CheckResult) bool { return r.OK })
	fresh.Causes, _ = player.Finish()
	fresh.Rejected = append(fresh.Rejected, c.UnexpectedFailures(fresh.Now)...)
	if r.cfg.Mode != (Mode{}) && !c.expectsError() { // a tape's own errors were wanted once
		fresh.Rejected = append(fresh.Rejected, rec.Failures()...)
	}
	fresh.Rejected = append(fresh.Rejected, player.Missed()...)
	return fresh, rec.Err()
}

// Unfit names the turns that failed and were not meant to: nothing that should be kept
// as the truth.
func (c *Case) UnexpectedFailures(seen []tape.Turn) []string {
	var why []string
	for i, s := range seen {
		if s.Sum.Error != "" && c.Turns[i].Expect.Error == "" {
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
func (c *Case) ExpectObserved(seen []tape.Turn) {
	for i := range min(len(seen), len(c.Turns)) {
		c.Turns[i].Expect = Observed(seen[i])
	}
}

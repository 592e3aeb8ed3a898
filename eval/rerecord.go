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

// A rerecorder records what a player serves: today's requests with the answers of the old tape.
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

// A Rerecording is the result of [Runner.Rerecord].
type Rerecording struct {
	// Causes are the first differences from the old tape, Was and Now its turns and the new
	// ones.
	Causes   []tape.Drift
	Was, Now []tape.Turn
	// Rejected lists the reasons not to replace the tape; it is empty if the recording is good.
	Rejected []string
	// Failed are the checks of the case that fail in the recording. A verdict that an answer of the old
	// tape is bad is not among them: it belongs on the tape.
	Failed []CheckResult
	// Verdicts are the checks with a verdict that was asked for and differs from the one on the old tape.
	Verdicts []CheckResult
}

// Rerecord runs a case once and records it to w. The tape's answers are served even to requests
// that differ.
func (r *Runner) Rerecord(ctx context.Context, c *Case, w io.Writer) (*Rerecording, error) {
	var rec *tape.Recorder
	host, player, err := r.open(ctx, c, true, func(p *tape.Player) (edges Edges, err error) {
		header := p.Tape().Header
		header.Case, header.Host = c.ID, r.cfg.Version
		rec, err = tape.NewRecorder(tape.RecorderConfig{To: w, Header: header, Redactor: r.cfg.Redactor, Skip: r.cfg.Skip})
		return rerecorder{rec, p}, err
	})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	again := &Rerecording{Was: player.Tape().Turns}
	if r.cfg.Mode.LiveTools {
		if err := host.Ready(ctx); err != nil {
			again.Rejected = append(again.Rejected, err.Error())
			return again, nil
		}
	}
	run := func(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
		return rec.Turn(ctx, t, player.Over(host.Run))
	}
	again.Now, err = c.Converse(ctx, run, func(*tape.Turn) error {
		if err := settle(ctx, host, player); err != nil {
			again.Rejected = append(again.Rejected, err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	result := newResult(c)
	result.judge(c, again.Now)
	kept, err := r.judging(c, player.Tape()).decide(ctx, &result, again.Now)
	if err != nil {
		return nil, err
	}
	for _, j := range kept {
		rec.Judge(j)
	}
	for _, check := range result.Checks {
		v := check.Verdict
		switch {
		case v != nil && v.Result == VerdictDown:
			again.Rejected = append(again.Rejected, fmt.Sprintf("turn %d, %s: the judge cannot be reached: %s", check.Turn, check.Name, v.Reason))
		case v == nil && !check.OK, v != nil && v.Result == VerdictFail && again.answerChanged(check.Turn-1):
			again.Failed = append(again.Failed, check)
		}
		if v != nil && v.Live && (v.Before == nil || len(v.Changed) > 0 || v.Before.Result != v.Result || v.Before.Reason != v.Reason) {
			again.Verdicts = append(again.Verdicts, check)
		}
	}
	again.Causes, _ = player.Finish()
	again.Rejected = append(again.Rejected, c.UnexpectedFailures(again.Now)...)
	if r.cfg.Mode != (Mode{}) && !c.expectsError() { // in a pure replay the errors are those on the tape
		again.Rejected = append(again.Rejected, rec.Failures()...)
	}
	again.Rejected = append(again.Rejected, player.Missed()...)
	return again, rec.Err()
}

// Redact replaces the secrets in a text of a recording, as on its tape.
func (r *Runner) Redact(s string) string { return r.cfg.Redactor.Text(s) }

// answerChanged reports whether the answer of the i-th turn is not that of the old tape.
func (r *Rerecording) answerChanged(i int) bool {
	return i >= len(r.Was) || i >= len(r.Now) || r.Was[i].Answer != r.Now[i].Answer
}

// UnexpectedFailures describes the turns that failed although no failure is expected.
func (c *Case) UnexpectedFailures(seen []tape.Turn) []string {
	var why []string
	for i, s := range seen {
		if s.Sum.Error != "" && c.Turns[i].Expect.Error == "" {
			why = append(why, fmt.Sprintf("turn %d failed: %s", i+1, s.Sum.Error))
		}
	}
	return why
}

// expectsError reports whether the case expects any turn to fail.
func (c *Case) expectsError() bool {
	return slices.ContainsFunc(c.Turns, func(t Turn) bool { return t.Expect.Error != "" })
}

// ExpectObserved replaces the expectations of the case by what happened in its turns.
func (c *Case) ExpectObserved(seen []tape.Turn) {
	for i := range min(len(seen), len(c.Turns)) {
		c.Turns[i].Expect = Observed(seen[i])
	}
}

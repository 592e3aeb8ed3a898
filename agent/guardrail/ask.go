package guardrail

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// ask lets the judge decide, and the policy when it does not.
func (g *Guard) ask(ctx context.Context, r reading, q Question, judge Judge, score float64) Verdict {
	ctx, cancel := context.WithTimeout(ctx, g.wait(q.Cold))
	defer cancel()
	answer, err := judge(ctx, g.prompt(r.text, q))
	if err != nil {
		g.log.WarnContext(ctx, "guardrail judge did not answer", "error", err, "policy", g.onFailure)
		return g.byPolicy(failure(err), score)
	}
	pass, ok := parse(answer)
	if !ok {
		g.log.WarnContext(ctx, "guardrail judge's answer cannot be read", "length", len(answer), "policy", g.onFailure)
		return g.byPolicy("the judge answered neither YES nor NO", score)
	}
	v := Verdict{Pass: pass, Sure: true, By: "model", Reason: "the judge decided", Score: score}
	if q.AskLanguage {
		v.Language = parseLanguage(answer)
	}
	return v
}

func (g *Guard) wait(cold bool) time.Duration {
	if cold {
		return cmp.Or(g.timeout, coldWait)
	}
	return cmp.Or(g.timeout, warmWait)
}

func failure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the judge did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the check was cancelled"
	}
	return "the judge cannot be reached"
}

func (g *Guard) byPolicy(reason string, score float64) Verdict {
	if g.onFailure == Open {
		return Verdict{Pass: true, By: "policy", Reason: reason + ": policy is open", Score: score}
	}
	return Verdict{By: "policy", Reason: reason + ": policy is closed", Score: score, Unavailable: true}
}

package agent

import (
	"context"

	"molar/agent/guardrail"
	"molar/providers"
)

// startGuard is step 2. When code is sure of the message alone, the verdict is
// there at once; otherwise it is worked out in the background, with the last
// exchange, while the turn prepares. Nothing is executed and no byte of an answer is
// sent before r.admit has seen it.
func (r *run) startGuard(ctx context.Context) error {
	guard := r.a.cfg.Guards[r.assistant.Topic]
	if r.assistant.Topic == "" {
		r.allowed = true
		return nil
	}
	quick := guard.Quick(r.asked)
	if quick.Sure {
		r.verdict = func(context.Context) (guardrail.Verdict, error) { return quick, nil }
		return r.admit(ctx)
	}
	if err := r.settleMemory(ctx); err != nil {
		return err
	}
	question := guardrail.Question{
		Text: r.asked, Lang: r.lang, AskLanguage: !r.langSure,
		Last: r.lastExchange(), Cold: r.a.warm.cold(r.route, r.a.cfg.Now()),
	}
	done := make(chan guardrail.Verdict, 1)
	decide := func() {
		var judge guardrail.Judge
		if !r.route.Offline {
			judge = judgeFunc(r.judge)
		}
		done <- guard.Decide(ctx, question, judge)
	}
	r.background.Go(decide)
	r.verdict = func(ctx context.Context) (guardrail.Verdict, error) {
		select {
		case v := <-done:
			done <- v
			return v, nil
		case <-ctx.Done():
			return guardrail.Verdict{}, ctx.Err()
		}
	}
	return nil
}

// admit waits for the verdict and fails with errRefused when it is no pass.
func (r *run) admit(ctx context.Context) error {
	if r.allowed {
		return nil
	}
	v, err := r.verdict(ctx)
	if err != nil {
		return err
	}
	if v.Language != "" && !r.langSure { // told in the same call
		r.lang, r.langSure = v.Language, true
		r.trace.t.Language = r.lang
	}
	r.trace.verdict(v)
	if !v.Pass {
		r.mark("2.1", "Guardrail result: REJECTED", "by", v.By, "reason", v.Reason)
		return errRefused
	}
	r.mark("2.1", "Guardrail result: PASSED", "by", v.By, "reason", v.Reason)
	r.allowed, r.smallTalk = true, v.SmallTalk
	return r.emit(Event{Kind: EventStep, Step: "2.1", Text: "Guardrail result: PASSED"})
}

// refuse answers a question that did not pass. Nothing of it is saved.
func (r *run) refuse(ctx context.Context) error {
	r.closed = true
	v, err := r.verdict(ctx)
	if err != nil {
		return err
	}
	guard := r.a.cfg.Guards[r.assistant.Topic]
	text := guard.Refusal(r.lang)
	if v.Unavailable {
		text = guard.Unavailable(r.lang)
	}
	r.mark("2.3", "Question rejected - NOT saved to memory")
	if err := r.emit(Event{Kind: EventStep, Step: "2.1", Text: "Guardrail result: REJECTED"}); err != nil {
		return err
	}
	if err := r.say(text); err != nil {
		return err
	}
	r.finish = providers.FinishStop
	done := r.sum()
	done.Refused = true
	return r.emit(Event{Kind: EventDone, Done: done})
}

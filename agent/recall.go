package agent

import (
	"context"
	"slices"

	"molar/agent/guardrail"
	"molar/agent/memory"
	"molar/schemas"
)

// recalled is what the memory read gave.
type recalled struct {
	opening memory.Opening
	err     error
}

// startMemory is step 3, begun early: the read of the conversation runs while the
// guardrail decides. settleMemory takes its result.
func (r *run) startMemory(ctx context.Context) error {
	// A key may stand for a turn that was saved in another conversation.
	r.fresh = r.fresh && r.paused == nil && r.turn.Key == ""
	done := make(chan recalled, 1)
	var result *recalled
	r.recall = func(ctx context.Context) recalled {
		if result != nil {
			return *result
		}
		select {
		case got := <-done:
			result = &got
		case <-ctx.Done():
			return recalled{err: ctx.Err()}
		}
		return *result
	}
	if r.turn.Stateless || r.a.cfg.Memory == nil {
		done <- recalled{}
		return nil
	}
	if r.fresh { // a turn that breaks off is saved too, and needs the lease for that
		ctx = context.WithoutCancel(ctx)
	}
	read := func() {
		ctx, cancel := context.WithTimeout(ctx, r.a.cfg.Limits.MemoryWait)
		defer cancel()
		began := r.a.cfg.Now()
		opening, err := r.a.cfg.Memory.Begin(ctx, r.turn.ConversationID, r.turn.Owner, r.turn.Key)
		r.trace.step("memory", r.a.cfg.Now().Sub(began))
		done <- recalled{opening: opening, err: err}
	}
	r.background.Go(read)
	return nil
}

// settleMemory waits for the read. Without memory the turn goes on, with a warning.
func (r *run) settleMemory(ctx context.Context) error {
	if r.remember || r.trace.t.Memory != "" {
		return nil
	}
	got := recalled{opening: memory.Opening{ConversationID: r.turn.ConversationID}}
	if !r.fresh {
		got = r.recall(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.turn.Stateless:
		r.trace.t.Memory = "stateless"
		r.opening.Messages = fromClient(r.turn.Messages)
	case r.a.cfg.Memory == nil:
		r.trace.t.Memory = "none"
	case got.err != nil:
		r.trace.t.Memory = "unreachable: " + got.err.Error()
		if err := r.warn("the conversation could not be read, so this turn runs without memory and is not saved: " + got.err.Error()); err != nil {
			return err
		}
	default:
		r.opening, r.remember = got.opening, true
		r.trace.t.Memory = "read"
		r.mark("3.1", "Conversation ID: "+got.opening.ConversationID, "known", got.opening.Known)
	}
	r.settleLanguage()
	r.condense(ctx)
	r.mark("4.1", "Summary and context read", "summary_length", len(r.opening.Summary), "messages", len(r.opening.Messages))
	return nil
}

// settleLease takes the result of the read that a new conversation did not wait for:
// the model is asked while the lease is being taken.
func (r *run) settleLease(ctx context.Context) error {
	if !r.fresh || !r.remember {
		return nil
	}
	got := r.recall(context.WithoutCancel(ctx)) // the read has an end of its own
	r.fresh, r.remember, r.opening = false, got.err == nil, got.opening
	if got.err != nil {
		r.trace.t.Memory = "unreachable: " + got.err.Error()
	}
	return got.err
}

// condense summarises first when so many messages are uncovered that they would
// crowd the prompt; where some of them were left out, the background has to do it. A
// failure costs nothing but the shorter prompt.
func (r *run) condense(ctx context.Context) {
	if !r.remember || r.opening.Partial || r.a.cfg.Summaries == nil || len(r.opening.Messages) < r.a.cfg.Limits.Uncovered {
		return
	}
	summary, covers, err := r.a.cfg.Summaries.CatchUp(ctx, memory.Claim{
		Owner:          r.turn.Owner,
		ConversationID: r.opening.ConversationID,
		Summary:        r.opening.Summary,
		Covers:         r.opening.Covers,
		Language:       r.lang,
		Messages:       r.opening.Messages,
	})
	if err != nil {
		r.a.log.Warn("the conversation could not be summarised before the answer", "turn", r.turn.ID, "error", err)
	}
	r.opening.Summary, r.opening.Covers = summary, covers
	r.opening.Messages = slices.DeleteFunc(r.opening.Messages, func(m schemas.StoredMessage) bool { return m.Seq <= covers })
}

// fromClient turns the messages before the question, as a client sent them, into
// the form in which the store gives them.
func fromClient(messages []schemas.Message) []schemas.StoredMessage {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != schemas.RoleUser {
		last--
	}
	var stored []schemas.StoredMessage
	for _, m := range messages[:max(last, 0)] {
		if said := m.Said(); said != "" && (m.Role == schemas.RoleUser || m.Role == schemas.RoleAssistant) {
			stored = append(stored, schemas.StoredMessage{Role: m.Role, Content: said})
		}
	}
	return stored
}

// lastExchange is the last question and answer before this turn, or nil.
func (r *run) lastExchange() *guardrail.Exchange {
	var last *guardrail.Exchange
	for _, m := range append(slices.Clone(r.opening.Recent), r.opening.Messages...) {
		switch {
		case m.Role == schemas.RoleUser:
			last = &guardrail.Exchange{Question: m.Content}
		case m.Role == schemas.RoleAssistant && last != nil:
			last.Answer = m.Content
		}
	}
	return last
}

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"molar/agent/answer"
	"molar/agent/offer"
	"molar/agent/subject"
	"molar/schemas"
)

// ErrNotContinued means that a turn whose process is gone cannot be continued.
var ErrNotContinued = errors.New("the turn cannot be continued")

// A Resumption is the work of a turn whose process is gone.
type Resumption struct {
	past
	// key is that of the turn, or its own id.
	key string
	// lease is the one under which the turn began; it is given back first.
	lease schemas.Lease
}

// request returns the turn as JSON, without the history of a client that the store has too.
func (t *Turn) request() json.RawMessage {
	asked := *t
	if !t.Stateless {
		last := len(t.Messages) - 1
		for last > 0 && t.Messages[last].Role != schemas.RoleUser {
			last--
		}
		asked.Messages = t.Messages[max(last, 0):]
	}
	b, err := json.Marshal(&asked)
	if err != nil {
		return nil // it always marshals; without it the turn does not go on
	}
	return b
}

// Continued returns a turn whose process is gone, so that Run continues it: what had results is not
// done again, the round after that is asked again, and a call that was sent without a result is made
// again only if it can have no second effect or a person says so. The caller sets who can be asked. The
// error is [ErrNotContinued] if the turn is not to go on.
func Continued(r schemas.JournalRecord) (Turn, error) {
	var b begunTurn
	if err := json.Unmarshal(r.State, &b); err != nil || len(b.Request) == 0 {
		return Turn{}, fmt.Errorf("%w: its journal has no request", ErrNotContinued)
	}
	var t Turn
	if err := json.Unmarshal(b.Request, &t); err != nil {
		return Turn{}, fmt.Errorf("%w: %w", ErrNotContinued, err)
	}
	p, err := replay(r)
	if err != nil {
		return Turn{}, fmt.Errorf("%w: %w", ErrNotContinued, err)
	}
	t.Resumed = &Resumption{past: p, key: b.Key, lease: b.Lease}
	return t, nil
}

// beginKey returns the key under which the memory looks for the turn.
func (t *Turn) beginKey() string {
	if t.Resumed != nil {
		return t.Resumed.key
	}
	return t.Key
}

// takeUp shows that the turn continues: text of a round that is asked again becomes commentary. Before
// the first round all is asked again.
func (w *task) takeUp() error {
	r := w.turn.Resumed
	text := r.open
	if len(r.rounds) == 0 {
		text = r.seen.Answer()
	}
	w.out.Resume(r.seen)
	return w.out.Emit(answer.Event{Kind: answer.KindReset, Text: text})
}

// letGo gives back the lease of the process that is gone, so that this one can take it.
func (a *Agent) letGo(ctx context.Context, t *Turn) {
	if t.Resumed == nil || t.Resumed.lease.Token == "" || a.cfg.Memory == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := a.cfg.Memory.Release(ctx, t.Resumed.lease); err != nil {
		a.log.Warn("the lease of a turn whose process is gone could not be given back; it ends by itself", "turn", t.ID, "error", err)
	}
}

// passed returns the gate of a question that passed in the process that is gone. The notice of an
// emergency is shown again if all is asked again.
func (a *Agent) passed(w *task, q question, kinds []string) (*Gate, error) {
	verdict := openGate()
	if w.guard == nil || len(kinds) == 0 {
		return verdict, nil
	}
	verdict.Emergency = subject.Deciding(w.guard.Topic(), kinds)
	if len(w.earlier()) > 0 {
		verdict.Notice = subject.Notice(w.guard.Topic(), kinds, q.lang)
		return verdict, nil
	}
	var err error
	verdict.Notice, err = a.notify(w, q, kinds)
	return verdict, err
}

// earlier returns the rounds of the process that is gone.
func (w *task) earlier() []schemas.Round {
	if w.turn.Resumed == nil {
		return nil
	}
	return w.turn.Resumed.rounds
}

// redo adds the rounds of the process that is gone, and makes the calls of the last one that have no
// result.
func (a *Agent) redo(ctx context.Context, w *task, o *offer.Offer, ask *step, progress *outcome) error {
	for _, round := range w.earlier() {
		calls := round.Said.Calls()
		var missing []schemas.ToolCall
		for _, call := range calls {
			if !slices.ContainsFunc(round.Results, func(r schemas.ToolResult) bool { return r.ID == call.ID }) {
				missing = append(missing, call)
			}
		}
		w.results.Add(round.Results...)
		progress.toolCalls += len(round.Results)
		if len(missing) > 0 {
			w.results.Limit(a.resultBytes(ctx, w, len(missing)))
			made, err := a.execute(ctx, w, missing, o.Handler, progress)
			round.Results = inOrder(calls, append(slices.Clone(round.Results), made...))
			if err != nil {
				progress.rounds = append(progress.rounds, round)
				return err
			}
		}
		progress.rounds = append(progress.rounds, round)
		for _, tool := range o.Grow(round.Results) {
			w.traceOffered(o, tool)
		}
		ask.messages = slices.Concat(ask.messages, a.roundMessages(w, round.Said, round.Results))
		if !onlyFinds(calls) {
			ask.round++
		}
	}
	return nil
}

// inOrder returns results in the order of their calls.
func inOrder(calls []schemas.ToolCall, results []schemas.ToolResult) []schemas.ToolResult {
	var sorted []schemas.ToolResult
	for _, call := range calls {
		for _, r := range results {
			if r.ID == call.ID {
				sorted = append(sorted, r)
			}
		}
	}
	return sorted
}

// unsure returns the calls that were sent before their process was lost, and have no result.
func (w *task) unsure() []schemas.ToolCall {
	var calls []schemas.ToolCall
	for _, round := range w.earlier() {
		for _, call := range round.Said.Calls() {
			if _, known := w.turn.Resumed.results[call.ID]; !known && w.turn.Resumed.sent[call.ID] {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

// Times of saving.
const (
	// saveFor is how long a save is tried.
	saveFor = 2 * time.Second
	// saveAgain is the pause between two tries.
	saveAgain = 100 * time.Millisecond
)

// save is step 8: question and answer in one transaction. Only a turn that is stored
// is reported done; without memory it is reported as not saved.
func (r *run) save(ctx context.Context) error {
	if err := r.settleLease(ctx); err != nil {
		return r.warn("the conversation could not be opened, so this turn is not saved: " + err.Error())
	}
	if !r.remember {
		return nil
	}
	// The answer has been given in full: a client that leaves now must not undo it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveFor)
	defer cancel()
	r.closed = true
	for {
		err := r.a.cfg.Memory.Save(ctx, r.record(""))
		if err == nil {
			break
		}
		if errors.Is(err, memory.ErrStale) {
			return fmt.Errorf("%w: %w", ErrNotSaved, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNotSaved, err)
		case <-time.After(saveAgain):
		}
	}
	r.saved = true
	r.mark("9.1", "Turn saved to memory")
	if r.a.cfg.Summaries != nil {
		r.a.cfg.Summaries.Nudge()
	}
	return nil
}

func (r *run) record(status string) memory.Record {
	key := r.turn.Key
	if key == "" || status == schemas.StatusInterrupted { // a key stands for a finished answer
		key = r.turn.ID
	}
	read := r.serversRead()
	if r.tools != nil {
		read = append(read, r.tools.Read()...)
	}
	var rounds []schemas.Round
	if r.toolCalls > 0 && !r.leak.leaked { // the rounds hold what the model said, word for word
		rounds = r.rounds
	}
	return memory.Record{
		Lease:       r.opening.Lease,
		Owner:       r.turn.Owner,
		Key:         key,
		TurnID:      r.turn.ID,
		User:        r.said(),
		Answer:      r.wholeAnswer(),
		Rounds:      rounds,
		Sources:     r.sources,
		Status:      status,
		ServersRead: read,
		Language:    r.lang,
	}
}

// close ends the run, however it went: what was answered before a turn broke off is
// saved as interrupted, and the trace is handed over.
func (r *run) close(ctx context.Context, err error) {
	if err != nil && !r.closed && r.remember && r.answer.Len() > 0 {
		r.saveInterrupted(ctx)
	}
	if cfg := &r.a.cfg; (cfg.Recorder != nil || cfg.Observer != nil) && r.route.Provider != nil { // else the turn was never accepted
		trace := r.trace.finish(r, err)
		if cfg.Observer != nil {
			cfg.Observer.Observe(trace)
		}
		if cfg.Recorder != nil {
			cfg.Recorder.Record(trace)
		}
	}
	if err == nil || errors.Is(err, errStopped) {
		return
	}
	// Who ran the turn has the error, and reports it.
	msg := "turn failed"
	if errors.Is(err, context.Canceled) { // nobody listens any more, or a person stopped it
		msg = "turn broken off"
	}
	r.a.log.Info(msg, "turn", r.turn.ID, "error", err)
}

func (r *run) saveInterrupted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveFor)
	defer cancel()
	err := r.settleLease(ctx)
	if err == nil {
		err = r.a.cfg.Memory.Save(ctx, r.record(schemas.StatusInterrupted))
	}
	if err != nil { // the consumer may have gone, and is not told
		r.a.log.Warn("the interrupted answer could not be saved", "turn", r.turn.ID, "error", err)
		return
	}
	r.saved = true
}

// repeatFinished gives the stored answer of a turn whose key was saved before,
// instead of running it again.
func (r *run) repeatFinished(ctx context.Context) error {
	if r.turn.Key == "" || r.turn.Stateless {
		return nil
	}
	if err := r.settleMemory(ctx); err != nil {
		return err
	}
	finished := r.opening.Finished
	if finished == nil {
		return nil
	}
	r.closed, r.saved = true, true
	r.sources, r.finish = finished.Sources, providers.FinishStop
	if err := r.say(finished.Answer); err != nil {
		return err
	}
	if err := r.report(ctx); err != nil {
		return err
	}
	return errRepeated
}

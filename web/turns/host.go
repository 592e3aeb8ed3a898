package turns

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/journal"
	"molar/schemas"
	"molar/web/wire"
)

// A Runner answers turns. The sequence is single use; an error comes once and last,
// and breaking off or cancelling ctx ends the turn.
type Runner interface {
	Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error]
}

// ErrCut is the error of a turn that ended without its last event.
var ErrCut = errors.New("the turn ended before its last event")

// A Host runs the turns of every surface. All fields but Keys and Sharing are required.
type Host struct {
	Agent Runner
	Set   *Set
	Waits *Waits
	// Keys stores the turns of Idempotency-Keys; nil means that they are forgotten a minute
	// after the turn's end, and at a restart.
	Keys KeyStore
	// Journal records detached and keyed turns for followers in other processes; nil records none.
	Journal *journal.Recorder
	// Sharing follows turns of other replicas; nil without any.
	Sharing *Sharing
	// May returns why a turn of a process that is gone must not be continued, such as that its owner's
	// key is no longer valid; nil allows all.
	May func(ctx context.Context, t agent.Turn) error
	// OnContinued is called with each turn that goes on here; it may be nil.
	OnContinued func(t *Live)
	Logger      *slog.Logger
	Now         func() time.Time
}

// A Request asks for a turn.
type Request struct {
	Turn agent.Turn
	// Hash is the result of [RequestHash], for a turn with a key.
	Hash string
	// Detach lets the turn continue when its client leaves. A turn with a key always continues.
	Detach bool
	// Shared lets every process follow, stop and approve the turn. Begin sets it for a turn that is
	// detached or has a key.
	Shared bool
	// Asks means that the client can decide about approvals, and Answers that it can answer
	// servers' questions, and receives their progress and log messages too.
	Asks, Answers bool
}

// Begin starts a turn and returns its feed. A turn that is detached or has a key continues when
// the client leaves, since the client may come back. All others end with ctx.
func (h *Host) Begin(ctx context.Context, q Request) (*Feed, error) {
	if q.Detach || q.Turn.Key != "" {
		q.Shared = true
		t, err := h.Detach(ctx, q)
		if err != nil {
			return nil, err
		}
		return t.Follow(ctx, 0), nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	f, ctx := newFeed(ctx)
	turn := q.Turn
	var news mailbox // most turns need no mailbox
	if q.Asks {
		news = make(mailbox, 64)
		who := asker{h, turn.Owner, turn.ID, func(ev answer.Event) { f.OnSideEvent(ev) }, news.put, h.Sharing}
		turn.Approver = who
		if q.Answers {
			turn.Person = who
		}
	}
	t := h.newLive(turn, cancel)
	h.Set.attach(t)
	f.Run = func(send func(Item) bool) {
		if q.Answers {
			defer news.empty(func(ev answer.Event) { f.OnSideEvent(ev) })()
		}
		pump(ctx, h.Agent, turn, h.Logger, func(it Item) bool {
			return send(t.mark(it))
		})
	}
	f.End = func() { f.Stop(); h.Set.end(t) }
	return f, nil
}

// Detach starts a turn that does not end with ctx, or returns the one that its key has started.
func (h *Host) Detach(ctx context.Context, q Request) (*Live, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	turn := q.Turn
	t := h.newLive(turn, cancel)
	t.key, t.hash = turn.Key, q.Hash
	of := note{q.Hash, q.Asks, q.Answers}
	h.let(t, &turn, of)
	shared := make(chan struct{}) // closed once every replica can find the turn
	found, mine, err := h.Set.detach(t, func() {
		var err error
		if q.Shared {
			turn.Journal, err = h.openJournal(ctx, t)
			t.keepBook(turn.Journal)
		}
		if turn.GoesOn = turn.Journal != nil; turn.GoesOn {
			turn.Note, _ = json.Marshal(of) // strings and booleans
		}
		close(shared)
		defer turn.Journal.End()
		if err != nil && !h.continuesUnshared(t, err) {
			return
		}
		if t.key == "" || h.Keys == nil {
			h.forgetFailed(t, h.run(ctx, t, turn, nil), false)
			return
		}
		h.runKeyed(ctx, t, turn)
	})
	if mine {
		<-shared
	} else {
		cancel(nil)
	}
	if err == nil && found.hash != t.hash && !mine {
		err = errOtherBody
	}
	return found, err
}

// openJournal records a turn of this process, so that others can follow and stop it.
func (h *Host) openJournal(ctx context.Context, t *Live) (*journal.Turn, error) {
	info := schemas.JournalTurn{ID: t.ID, Owner: t.owner, Assistant: t.assistant, ConversationID: t.conversation, Shared: true}
	return h.Journal.Open(ctx, info, t.endElsewhere)
}

// endElsewhere ends a turn that was stopped at another process, or taken over by one.
func (t *Live) endElsewhere(cause error) {
	if errors.Is(cause, journal.ErrStop) {
		t.cancel(ErrStopped)
		return
	}
	t.cancel(ErrLost)
}

// continuesUnshared reports whether a turn that could not be shared because of err runs anyway. A
// turn with a key does not: other replicas would treat it as dead and reuse its key.
func (h *Host) continuesUnshared(t *Live, err error) bool {
	h.Logger.Error("a turn cannot be shared with other replicas", "turn_id", t.ID, "error", err)
	if t.key == "" {
		return true
	}
	h.Set.forgetKey(t)
	t.add(Item{Err: wire.ErrStore})
	return false
}

// run runs a turn into its log and returns what ended it. before, if set, is called with each
// event; its error ends the turn.
func (h *Host) run(ctx context.Context, t *Live, turn agent.Turn, before func(answer.Event) error) error {
	var last error
	pump(ctx, h.Agent, turn, h.Logger, func(it Item) bool {
		if it.Err != nil {
			last = CauseOf(context.Cause(ctx), it.Err)
			if t.book().IsHandedOver() {
				last = errFollowElsewhere
			}
			it.Err = last
		} else if before != nil {
			if err := before(it.Event); err != nil {
				last = err
				t.add(Item{Err: err})
				return false
			}
		}
		t.add(t.mark(it))
		return true
	})
	return last
}

// CauseOf returns why a turn ended: the cause, with how much of the turn is stored, if a person
// stopped it, else the error.
func CauseOf(cause, err error) error {
	stopped, ok := errors.AsType[*wire.Error](cause)
	if ok && (errors.Is(err, stopped) || errors.Is(err, context.Canceled) || errors.Is(err, ErrCut)) {
		return WithStored(stopped, agent.StoredOf(err))
	}
	return err
}

// WithStored returns the error of a turn that ended early, with a text about how much of the turn is
// stored.
func WithStored(e *wire.Error, kept agent.StoredPart) *wire.Error {
	full := *e
	switch kept {
	case agent.StoredAnswer:
		full.Message += "; its conversation keeps what it had answered, as interrupted"
	case agent.StoredQuestion:
		full.Message += "; its conversation keeps the question, and nothing of the answer"
	case agent.StoredNothing:
		full.Message += "; its conversation keeps nothing of it"
	default:
		full.Message += "; its conversation keeps what was stored until then, as interrupted"
	}
	return &full
}

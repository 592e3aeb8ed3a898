package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
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
	May func(ctx context.Context, t *agent.Turn) error
	// OnContinued is called with each turn that goes on here; it may be nil.
	OnContinued func(t *Live)
	// Held are the calls that are stored for approvers; nil without any. Told is called with what
	// happens to calls that need approvers: [answer.ApprovalRequested], or [answer.ApprovalDecided] and the
	// decision. It must not block, and may be nil.
	Held HeldStore
	Told func(ctx context.Context, event, owner string, a answer.Approval, d *agent.Decision)
	// Audit keeps the decisions about stored calls; nil keeps none.
	Audit  func(ctx context.Context, r agent.Ruling)
	Logger *slog.Logger
	Now    func() time.Time
}

// A Request asks for a turn.
type Request struct {
	Turn agent.Turn
	// Hash is the result of [RequestHash], for a turn with a key.
	Hash string
	// Detach lets the turn continue when its client leaves. A turn with a key always continues, since
	// its client may come back.
	Detach bool
	// Shared lets every process follow, stop and approve the turn, and another one continue it.
	Shared bool
	// Asks means that the client can decide about approvals, and Answers that it can answer
	// servers' questions, and receives their progress and log messages too.
	Asks, Answers bool
}

// room is how many items of a turn wait for a client that only follows this one.
const room = 8

// Begin starts a turn, or returns the one that its key has started. A turn that does not continue
// without its client ends with ctx; its caller follows it.
func (h *Host) Begin(ctx context.Context, q Request) (*Live, error) {
	turn := q.Turn
	continues := q.Detach || turn.Key != ""
	if continues {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t := h.newLive(turn, cancel)
	t.key, t.hash = turn.Key, q.Hash
	if !continues {
		t.Log = newQueue[Item](room)
		t.cancel = func(cause error) { cancel(cause); t.Log.hurry() }
	}
	of := note{q.Hash, q.Asks, q.Answers}
	h.let(t, &turn, of)
	var open func() (*journal.Turn, error)
	if q.Shared && h.Journal != nil {
		turn.Note, _ = json.Marshal(of) // strings and booleans
		open = func() (*journal.Turn, error) { return h.openJournal(ctx, t) }
	}
	found, mine, err := h.start(ctx, t, turn, open)
	if !mine {
		cancel(nil)
	}
	if err == nil && found.hash != t.hash && !mine {
		err = errOtherBody
	}
	return found, err
}

// start runs a turn in a goroutine of the set, unless its key has started one, which it returns
// instead. It returns once others can find the turn in the journal that open opens; nil opens none.
func (h *Host) start(ctx context.Context, t *Live, turn agent.Turn, open func() (*journal.Turn, error)) (found *Live, mine bool, err error) {
	opened := make(chan struct{})
	found, mine, err = h.Set.begin(t, func() {
		var err error
		if open != nil {
			turn.Journal, err = open()
			t.keepBook(turn.Journal)
		}
		turn.GoesOn = turn.Journal != nil
		close(opened)
		defer turn.Journal.End()
		switch {
		case err != nil && !h.continuesUnshared(t, err):
		case t.key != "" && h.Keys != nil:
			h.runKeyed(ctx, t, &turn)
		default:
			h.forgetFailed(t, h.run(ctx, t, &turn, nil), false)
		}
	})
	if mine && open != nil {
		<-opened
	}
	return found, mine, err
}

// openJournal records a turn of this process, so that others can follow and stop it.
func (h *Host) openJournal(ctx context.Context, t *Live) (*journal.Turn, error) {
	info := schemas.JournalTurn{ID: t.ID, Owner: t.owner, Assistant: t.assistant, ConversationID: t.conversation, Shared: true, Since: t.began}
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
func (h *Host) run(ctx context.Context, t *Live, turn *agent.Turn, before func(answer.Event) error) (last error) {
	defer func() {
		if p := recover(); p != nil {
			h.Logger.Error("turn panicked", "turn_id", t.ID, "panic", p, "stack", string(debug.Stack()))
			last = fmt.Errorf("turn panicked: %v", p)
			t.add(t.mark(Item{Err: last}))
		}
	}()
	for ev, err := range h.events(ctx, turn) {
		left := t.book().IsHandedOver()
		switch {
		case err != nil && left:
			err = errFollowElsewhere
		case err != nil:
			err = CauseOf(context.Cause(ctx), err)
		case left: // how its calls end here is not how they end
			continue
		case before != nil:
			err = before(ev)
		}
		t.add(t.mark(Item{Event: ev, Err: err}))
		if err != nil {
			return err
		}
		if ev.Kind == answer.KindToolResult && h.Set.isLeaving() { // the others may wait for a person
			h.pauseWaiting(t)
		}
	}
	return nil
}

// pauseWaiting ends a turn that only waits for a person's decisions, as the process shuts down: another
// one asks again, if the turn may go on. No call that may have an effect is running, so none is made
// twice.
func (h *Host) pauseWaiting(t *Live) {
	if h.Waits.withdraw(t.ID, t.openCalls()) {
		t.book().HandOver()
		t.cancel(ErrShuttingDown)
	}
}

// events returns the events of a turn. It is a function of its own, as a turn is large and run's stack
// lasts as long as the answer.
//
//go:noinline
func (h *Host) events(ctx context.Context, turn *agent.Turn) iter.Seq2[answer.Event, error] {
	return h.Agent.Run(ctx, *turn)
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

package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"molar/agent"
)

// How long, and how many of, the turns that have ended can be followed.
const (
	followFor   = 60 * time.Second
	maxEnded    = 256
	maxEndedLog = 64 << 20 // bytes
)

// errStopped ends a turn that a person stopped. No client should repeat it.
var errStopped = &apiError{
	status: statusActed, kind: typeInvalid, code: "stopped", noRetry: true,
	message: "the turn was stopped; what it had answered is kept as interrupted",
}

// Turns are the turns that run in this process, and those that can still be followed.
// A turn belongs to its client's connection, unless it is detached: then it runs on
// here, and whoever makes the Turns calls Drain before it ends.
type Turns struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	live   map[string]*liveTurn
	keys   map[ownedKey]*liveTurn
	ended  []*liveTurn
	closed bool
	// running holds the detached turns.
	running sync.WaitGroup
}

// An ownedKey is an Idempotency-Key with its scope.
type ownedKey struct{ owner, key string }

// A liveTurn is one turn of Turns.
type liveTurn struct {
	id, owner string
	// assistant and conversation are as the request names them, maybe not at all; told is
	// what the turn itself said, once it did.
	assistant, conversation string
	told                    atomic.Pointer[agent.Start]
	began                   time.Time
	now                     func() time.Time
	cancel                  context.CancelCauseFunc
	// log is nil for a turn that only its own client reads.
	log *turnLog
	// key and hash are set for a turn with an Idempotency-Key: hash is the body's.
	key  string
	hash string
	// done is closed at its end.
	done    chan struct{}
	endedAt time.Time
}

// NewTurns returns an empty set. A nil logger discards, a nil clock is time.Now.
func NewTurns(log *slog.Logger, now func() time.Time) *Turns {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Turns{log: log, now: now, live: make(map[string]*liveTurn), keys: make(map[ownedKey]*liveTurn)}
}

// attach notes a turn that runs with its client's connection. The caller calls end.
func (ts *Turns) attach(t *liveTurn) {
	t.done = make(chan struct{})
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.live[t.id] = t
}

// detach notes a turn that runs on without its client, and starts run. With a key
// that is known it returns the turn of that key instead, and false.
func (ts *Turns) detach(t *liveTurn, run func()) (*liveTurn, bool, error) {
	t.log, t.done = newTurnLog(), make(chan struct{})
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.forgetOld()
	if t.key != "" {
		if first, ok := ts.keys[ownedKey{t.owner, t.key}]; ok {
			return first, false, nil
		}
	}
	if ts.closed {
		return nil, false, &apiError{
			status: http.StatusServiceUnavailable, kind: typeServer, code: "shutting_down",
			message: "the server is shutting down", retryAfter: time.Second,
		}
	}
	ts.live[t.id] = t
	if t.key != "" {
		ts.keys[ownedKey{t.owner, t.key}] = t
	}
	ts.running.Go(func() {
		defer ts.end(t)
		run()
	})
	return t, true, nil
}

// end notes that a turn has ended. One with a log stays for a while.
func (ts *Turns) end(t *liveTurn) {
	t.cancel(nil)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	close(t.done)
	if t.log == nil {
		delete(ts.live, t.id)
		return
	}
	t.log.end()
	t.endedAt = ts.now()
	ts.ended = append(ts.ended, t)
	ts.forgetOld()
}

// forgetKey lets the next request with the turn's key begin anew.
func (ts *Turns) forgetKey(t *liveTurn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.dropKey(t)
}

func (ts *Turns) dropKey(t *liveTurn) {
	if k := (ownedKey{t.owner, t.key}); ts.keys[k] == t {
		delete(ts.keys, k)
	}
}

// forgetOld drops ended turns that are too old or too many.
func (ts *Turns) forgetOld() {
	size := 0
	for _, t := range ts.ended {
		size += t.log.bytes()
	}
	for len(ts.ended) > 0 {
		t := ts.ended[0]
		if ts.now().Sub(t.endedAt) < followFor && len(ts.ended) <= maxEnded && size <= maxEndedLog {
			return
		}
		size -= t.log.bytes()
		delete(ts.live, t.id)
		ts.dropKey(t)
		ts.ended[0] = nil
		ts.ended = ts.ended[1:]
	}
}

// find returns the turn of the id, if it is the owner's.
func (ts *Turns) find(owner, id string) (*liveTurn, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.forgetOld()
	t, ok := ts.live[strings.TrimPrefix(id, completionPrefix)]
	return t, ok && t.owner == owner
}

// Drain lets detached turns end. Those that still run when ctx ends are cancelled,
// which saves what they answered as interrupted; Drain returns when all have ended.
// No turn can be detached any more.
func (ts *Turns) Drain(ctx context.Context) {
	ts.mu.Lock()
	ts.closed = true
	ts.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the turns, which Drain waits for
		ts.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	ts.mu.Lock()
	for _, t := range ts.live {
		if t.log != nil {
			t.cancel(errStopped)
		}
	}
	ts.mu.Unlock()
	<-ended
}

// isOver says whether the turn has ended.
func (t *liveTurn) isOver() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// runDetached runs a turn into its log. before is called with each event and may end
// the turn; after, with what ended it.
func (s *server) runDetached(ctx context.Context, t *liveTurn, turn agent.Turn, before func(agent.Event) error) error {
	var last error
	pump(ctx, s.Agent, turn, s.Logger, func(it item) bool {
		if it.err != nil {
			last = causeOf(context.Cause(ctx), it.err)
			it.err = last
		} else if before != nil {
			if err := before(it.event); err != nil {
				last = err
				t.log.add(item{err: err})
				return false
			}
		}
		t.log.add(t.mark(it))
		return true
	})
	return last
}

// causeOf tells a turn that was stopped from one that failed.
func causeOf(cause, err error) error {
	if stopped, ok := errors.AsType[*apiError](cause); ok && (errors.Is(err, context.Canceled) || errors.Is(err, errCut)) {
		return stopped
	}
	return err
}

package turns

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"molar/agent/answer"
	"molar/agent/journal"
	"molar/web/wire"
)

// How long, and how many, ended turns can be followed.
const (
	followFor   = 60 * time.Second
	maxEnded    = 256
	maxEndedLog = 64 << 20 // bytes
)

// ErrStopped is the error of a turn that a person stopped. Clients should not repeat it.
var ErrStopped = &wire.Error{
	Status: wire.StatusActed, Kind: wire.TypeInvalid, Code: "stopped", NoRetry: true,
	Message: "the turn was stopped",
}

// ErrShuttingDown refuses a turn, or ends one that outlasts the drain.
var ErrShuttingDown = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "shutting_down",
	Message: "the server is shutting down", RetryAfter: time.Second,
}

// A Set holds the turns that run in this process, and ended turns that can still be followed. Its
// owner calls Drain before the process exits, to let the turns end.
type Set struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	live   map[string]*Live
	keys   map[ownedKey]*Live
	ended  []*Live
	closed bool
	// leaving is closed by PauseWaiting, closing when Drain begins.
	leaving, closing chan struct{}
	// running counts the turns.
	running sync.WaitGroup
}

// An ownedKey is an Idempotency-Key with its scope.
type ownedKey struct{ owner, key string }

// A Live is one turn of a Set.
type Live struct {
	ID    string
	owner string
	// assistant and conversation are as in the request, and may be empty. start is the turn's
	// start event, nil until it was received.
	assistant, conversation string
	start                   atomic.Pointer[answer.Start]
	began                   time.Time
	now                     func() time.Time
	cancel                  context.CancelCauseFunc
	// Log has the items of the turn: a queue of a turn that only its own client reads.
	Log *Log[Item]
	// key and hash are set for a turn with an Idempotency-Key; hash is the result of [RequestHash].
	key  string
	hash string
	// goesOn is set on a turn whose process is gone, and that continues here.
	goesOn bool
	// done is closed when the turn has ended.
	done    chan struct{}
	endedAt time.Time
	// over ends the mirror of a turn that another process runs.
	over func(error)
	// forgotten is set once nobody may find it any more.
	forgotten bool
	// broken is the error of the last item, if the turn itself did not send it.
	broken atomic.Pointer[error]

	// adding keeps the items in the same order in log and journal.
	adding sync.Mutex
	// open has the ids of the calls that may have an effect and have no result yet.
	open map[string]bool
	// added counts the items; resets are the numbers of those with which a continuation began.
	added  int
	resets []int
	// journal records the items of a turn of this process that others may follow; nil records none.
	journal *journal.Turn
}

// NewSet returns an empty set. A nil log discards; a nil now means time.Now.
func NewSet(log *slog.Logger, now func() time.Time) *Set {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Set{log: log, now: now, live: make(map[string]*Live), keys: make(map[ownedKey]*Live), leaving: make(chan struct{}), closing: make(chan struct{})}
}

// attachMirror adds a turn that another process runs, or finds it.
func (ts *Set) attachMirror(t *Live) (*Live, bool) {
	t.Log, t.done = NewLog(sizeOf), make(chan struct{})
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if first, ok := ts.live[t.ID]; ok {
		return first, false
	}
	ts.live[t.ID] = t
	return t, true
}

// begin adds a turn, and starts run. With a known key it returns that key's turn instead, and false.
func (ts *Set) begin(t *Live, run func()) (*Live, bool, error) {
	t.done = make(chan struct{})
	if t.Log == nil {
		t.Log = NewLog(sizeOf)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.forgetOld()
	if t.key != "" && !t.goesOn { // a request with the key of a turn that goes on waits for that turn
		if first, ok := ts.keys[ownedKey{t.owner, t.key}]; ok {
			return first, false, nil
		}
	}
	if ts.closed {
		return nil, false, ErrShuttingDown
	}
	ts.live[t.ID] = t
	if t.key != "" {
		ts.keys[ownedKey{t.owner, t.key}] = t
	}
	ts.running.Go(func() {
		defer ts.end(t)
		run()
	})
	return t, true, nil
}

// end marks a turn as ended. One that may be followed can be followed for a while.
func (ts *Set) end(t *Live) {
	t.cancel(nil)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.Log.End()
	close(t.done)
	if !t.MayBeFollowed() {
		delete(ts.live, t.ID)
		return
	}
	t.endedAt = ts.now()
	ts.ended = append(ts.ended, t)
	ts.forgetOld()
}

// forgetKey lets the next request with the turn's key start a new turn.
func (ts *Set) forgetKey(t *Live) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.dropKey(t)
}

func (ts *Set) dropKey(t *Live) {
	if k := (ownedKey{t.owner, t.key}); ts.keys[k] == t {
		delete(ts.keys, k)
	}
}

// forgetOld drops ended turns that are too old or too many.
func (ts *Set) forgetOld() {
	size := 0
	for _, t := range ts.ended {
		size += t.Log.Bytes()
	}
	for len(ts.ended) > 0 {
		t := ts.ended[0]
		if ts.now().Sub(t.endedAt) < followFor && len(ts.ended) <= maxEnded && size <= maxEndedLog {
			return
		}
		size -= t.Log.Bytes()
		if ts.live[t.ID] == t { // else it goes on here, and this is how it was followed before
			delete(ts.live, t.ID)
		}
		ts.dropKey(t)
		ts.ended[0] = nil
		ts.ended = ts.ended[1:]
	}
}

// Find returns the turn with the id, if it is the owner's.
func (ts *Set) Find(owner, id string) (*Live, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.forgetOld()
	t, ok := ts.live[id]
	return t, ok && t.owner == owner && !t.forgotten
}

// PauseWaiting ends, from now on, every turn that only waits for a person's decisions: they may take
// longer than a shutdown. Another process asks again in those that may go on; others are saved as
// interrupted.
func (ts *Set) PauseWaiting() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !ts.isLeaving() {
		close(ts.leaving)
	}
}

// isLeaving reports whether PauseWaiting was called.
func (ts *Set) isLeaving() bool {
	select {
	case <-ts.leaving:
		return true
	default:
		return false
	}
}

// Drain lets the turns end, and refuses new ones. Turns that still run when ctx ends are
// cancelled, and the reason is sent to their followers: another process continues those that may go
// on, the answers of others are saved as interrupted.
// Drain returns when all have ended.
func (ts *Set) Drain(ctx context.Context) {
	ts.mu.Lock()
	if !ts.closed {
		close(ts.closing)
	}
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
		t.book().HandOver()
		t.cancel(ErrShuttingDown)
	}
	ts.mu.Unlock()
	<-ended
}

// Closing returns a channel that is closed when Drain begins.
func (ts *Set) Closing() <-chan struct{} { return ts.closing }

// Go runs f in a goroutine that Drain waits for. It fails once Drain was called.
func (ts *Set) Go(f func()) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return ErrShuttingDown
	}
	ts.running.Go(f)
	return nil
}

// add appends an item to the turn's log, and to its journal.
func (t *Live) add(it Item) {
	if it.Event.Kind == answer.KindStart {
		t.start.Store(it.Event.Start)
	}
	t.track(it.Event)
	if t.Log.isQueue() { // it has no journal, and may wait for its reader
		t.Log.Add(it)
		return
	}
	t.adding.Lock()
	defer t.adding.Unlock()
	if t.added++; it.Event.Kind == answer.KindReset {
		t.resets = append(t.resets, t.added)
	}
	t.Log.Add(it)
	if it.Err != nil {
		t.journal.Fail(failureOf(it.Err), it.At)
	} else {
		t.journal.Add(it.Event, it.At)
	}
}

// track records which calls that may have an effect have no result. A continuation announces again those
// of the process that is gone.
func (t *Live) track(ev answer.Event) {
	t.adding.Lock()
	defer t.adding.Unlock()
	switch {
	case Acts(ev):
		if t.open == nil {
			t.open = make(map[string]bool)
		}
		t.open[ev.Call.ID] = true
	case ev.Kind == answer.KindToolResult && ev.Call != nil:
		delete(t.open, ev.Call.ID)
	case ev.Kind == answer.KindReset:
		clear(t.open)
	}
}

// openCalls returns the ids of the calls that may have an effect and have no result yet.
func (t *Live) openCalls() []string {
	t.adding.Lock()
	defer t.adding.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

// book returns the journal of a turn of this process that others may follow; nil if there is none.
func (t *Live) book() *journal.Turn {
	t.adding.Lock()
	defer t.adding.Unlock()
	return t.journal
}

// keepBook sets the journal.
func (t *Live) keepBook(j *journal.Turn) {
	t.adding.Lock()
	defer t.adding.Unlock()
	t.journal = j
}

// Owner returns the owner of the turn.
func (t *Live) Owner() string { return t.owner }

// Start returns the turn's start event; nil until it was received.
func (t *Live) Start() *answer.Start { return t.start.Load() }

// MayBeFollowed reports whether others than the client that began the turn may read it, and whether it
// continues without that client.
func (t *Live) MayBeFollowed() bool { return !t.Log.isQueue() }

// Abandon ends a turn whose client is gone.
func (t *Live) Abandon() { t.cancel(nil) }

// Stop ends the turn at a person's request.
func (t *Live) Stop() { t.cancel(ErrStopped) }

// Ended returns a channel that is closed when the turn has ended.
func (t *Live) Ended() <-chan struct{} { return t.done }

// IsBroken reports whether the items here stop before the end of the turn, with an error as the
// last item. The replica that ran the turn may have sent more.
func (t *Live) IsBroken() bool { return t.broken.Load() != nil }

// IsOver reports whether the turn has ended.
func (t *Live) IsOver() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

package journal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"molar/schemas"
)

// Times of a [Recorder].
const (
	// writeEvery is the longest time for which what was shown is not written, so that pieces of text of
	// many turns share a transaction; shareEvery is the same for turns that others follow.
	writeEvery, shareEvery = 250 * time.Millisecond, 50 * time.Millisecond
	// writeSize is how many bytes a turn may have pending before writeEvery has passed.
	writeSize = 4 << 10
	// beatEvery is how often a process says that it is alive.
	beatEvery = 2 * time.Second
	// storeFor is the time limit of one exchange with the store.
	storeFor = 5 * time.Second
)

// A Store stores journals. Another one, such as an engine of durable execution, can stand behind it.
type Store interface {
	// Begin records a turn of this process, or adds the state to one that is recorded.
	Begin(ctx context.Context, t schemas.JournalTurn) error
	// Write adds news to journals, on the disk if synced is set. held has an entry for each turn that
	// still belongs to this process: whether a stop of it was requested. It can be repeated with the
	// same rows.
	Write(ctx context.Context, synced bool, news []schemas.JournalNews) (held map[string]bool, err error)
	// Beat says that this process is alive, and returns its turns like Write.
	Beat(ctx context.Context) (held map[string]bool, err error)
	// Drop deletes journals of this process, Leave gives turns up for another one to continue.
	Drop(ctx context.Context, ids []string) error
	Leave(ctx context.Context, ids []string) error

	// TakeDead takes over turns whose process is known to be gone, TakeLost those whose process was
	// silent for too long. IsIdle reports whether there is none.
	// goesOn is set by a process that continues turns.
	TakeDead(ctx context.Context, goesOn bool) (ids []string, err error)
	TakeLost(ctx context.Context, goesOn bool) (ids []string, err error)
	IsIdle(ctx context.Context) (bool, error)
	// Read returns the whole journal of a turn.
	Read(ctx context.Context, id string) (r schemas.JournalRecord, ok bool, err error)
	// Lose ends a turn that this process has taken over.
	Lose(ctx context.Context, id string) error
}

// Config configures a [Recorder].
type Config struct {
	Store Store
	// Wake tells the other processes of news of shared turns; nil if there are none.
	Wake func(ctx context.Context, ids ...string) error
	// Recover saves what a lost turn has left; it is called again after an error.
	Recover func(ctx context.Context, r schemas.JournalRecord) error
	Logger  *slog.Logger
}

// A Recorder writes the journals of the turns of this process, and recovers turns of processes that
// are gone. Its owner calls Run.
type Recorder struct {
	store   Store
	wake    func(ctx context.Context, ids ...string) error
	recover func(ctx context.Context, r schemas.JournalRecord) error
	log     *slog.Logger

	mu sync.Mutex
	// goOn continues a turn; nil in a process that continues none.
	goOn func(ctx context.Context, r schemas.JournalRecord) error
	// turns are recorded and not ended in the store, by id.
	turns map[string]*Turn

	// soon and fast wake the loop that writes: within writeEvery, or at once. asked makes it renew the
	// turns.
	soon, fast, asked chan struct{}
	// look makes it look for lost turns at once.
	look chan struct{}
	// ready is closed once the turns of dead processes have been looked for.
	ready chan struct{}
}

// New returns a recorder.
func New(cfg Config) (*Recorder, error) {
	if cfg.Store == nil || cfg.Recover == nil {
		return nil, errors.New("journal: a store and a way to recover turns are required")
	}
	r := &Recorder{
		store: cfg.Store, wake: cfg.Wake, recover: cfg.Recover, log: cfg.Logger, turns: make(map[string]*Turn),
		soon: make(chan struct{}, 1), fast: make(chan struct{}, 1), asked: make(chan struct{}, 1),
		look: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r, nil
}

// Open returns the journal of a turn that is about to run. Nothing is written before [Turn.Begin],
// unless the turn is shared: then others can follow it from now on. cancel ends the turn. A nil
// recorder records nothing.
func (r *Recorder) Open(ctx context.Context, t schemas.JournalTurn, cancel func(cause error)) (*Turn, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // it records nothing
	}
	turn := &Turn{of: r, info: t, cancel: cancel}
	if !t.Shared {
		return turn, nil
	}
	ctx, stop := context.WithTimeout(ctx, storeFor)
	defer stop()
	if err := r.store.Begin(ctx, t); err != nil {
		return nil, err
	}
	turn.recorded = true
	r.register(turn)
	return turn, nil
}

// GoOn lets this process continue turns of others: f starts one, and fails if it cannot be continued.
func (r *Recorder) GoOn(f func(ctx context.Context, r schemas.JournalRecord) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goOn = f
	select {
	case r.look <- struct{}{}:
	default:
	}
}

// Resume returns the journal of a turn that this process has taken over and continues.
func (r *Recorder) Resume(j schemas.JournalRecord, cancel func(cause error)) *Turn {
	turn := &Turn{of: r, info: j.JournalTurn, cancel: cancel, said: len(j.Rounds), recorded: true}
	for _, row := range j.Rows {
		turn.first = row.Last
	}
	r.register(turn)
	return turn
}

// GoesOn reports whether an owner's turn of any process has not ended and may be continued.
func (r *Recorder) GoesOn(ctx context.Context, owner, id string) (bool, error) {
	if r == nil {
		return false, nil
	}
	record, ok, err := r.store.Read(ctx, id)
	return ok && record.Owner == owner && record.GoesOn && !record.Ended, err
}

func (r *Recorder) register(t *Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns[t.info.ID] = t
}

// Ready waits until the turns of dead processes are saved, so that a new turn of their conversation
// sees them, or until ctx ends.
func (r *Recorder) Ready(ctx context.Context) {
	if r == nil {
		return
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
	}
}

// nudge wakes the loop that writes: at once for a turn that others follow, or one that has much.
func (r *Recorder) nudge(shared bool, size int) {
	to := r.soon
	if shared || size >= writeSize {
		to = r.fast
	}
	select {
	case to <- struct{}{}:
	default:
	}
}

// Run writes journals and recovers lost turns until ctx ends, and then writes the rest: the turns of
// this process must have ended by then.
func (r *Recorder) Run(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { r.reap(ctx) })
	r.record(ctx)
}

// record writes what the turns of this process add, and says that it is alive.
func (r *Recorder) record(ctx context.Context) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	later := time.NewTimer(writeEvery)
	later.Stop()
	failed, armed := false, false
	for {
		var err error
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
			defer cancel()
			_ = r.writeAll(last, false) // nobody reads the error at the end
			return
		case <-beat.C:
			err = r.beat(ctx)
		case <-r.asked:
			err = r.beat(ctx)
		case <-r.soon:
			if !armed { // a timer that is set again and again never fires
				later.Reset(writeEvery)
				armed = true
			}
		case <-later.C:
			armed = false
			err = r.writeAll(ctx, false)
		case <-r.fast:
			err = r.writeAll(ctx, true)
			pause(ctx, shareEvery) // what comes meanwhile is written together
		}
		if err != nil {
			if !failed {
				r.log.Warn("the journals of turns cannot be written; trying again", "error", err)
			}
			pause(ctx, shareEvery)
			r.nudge(false, 0)
		}
		failed = err != nil
	}
}

func pause(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// writeAll writes all turns with news; with urgent set, only those that others follow or that have
// much.
func (r *Recorder) writeAll(ctx context.Context, urgent bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	var turns []*Turn
	var done, left []string
	r.mu.Lock()
	for id, t := range r.turns {
		t.mu.Lock()
		pending, ended := len(t.items)+len(t.rounds)+len(t.sending.Rows)+len(t.sending.Rounds) > 0, t.ended
		much := t.isShared() || t.size >= writeSize
		t.mu.Unlock()
		switch {
		case ended && t.isLeft():
			left = append(left, id)
			if pending {
				turns = append(turns, t)
			}
		case ended && !t.isShared():
			done = append(done, id)
		case (pending || ended) && (much || !urgent):
			turns = append(turns, t)
		}
	}
	r.mu.Unlock()
	err := r.write(ctx, false, turns)
	if len(left) > 0 && err == nil {
		if err = r.store.Leave(ctx, left); err == nil {
			r.forget(left)
		}
	}
	if len(done) > 0 && !urgent {
		dropped := r.store.Drop(ctx, done)
		if dropped == nil {
			r.forget(done)
		}
		err = errors.Join(err, dropped)
	}
	return err
}

func (r *Recorder) forget(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		delete(r.turns, id)
	}
}

// write writes the news of turns.
func (r *Recorder) write(ctx context.Context, synced bool, turns []*Turn) error {
	var news []schemas.JournalNews
	var of []*Turn
	for _, t := range turns {
		t.writing.Lock()
		defer t.writing.Unlock()
		if n, some := t.news(); some {
			news, of = append(news, n), append(of, t)
		}
	}
	if len(news) == 0 {
		return nil
	}
	held, err := r.store.Write(ctx, synced, news)
	if err != nil {
		return err
	}
	var shared, over []string
	for i, t := range of {
		stop, ours := held[t.info.ID]
		t.wrote(ours, stop, !ours && r.isErased(ctx, t))
		if ours && t.isShared() {
			shared = append(shared, t.info.ID)
		}
		if !ours || news[i].Ended {
			over = append(over, t.info.ID)
		}
	}
	r.forget(over)
	if len(shared) > 0 && r.wake != nil {
		if err := r.wake(ctx, shared...); err != nil {
			r.log.Debug("other processes could not be notified; they read the news at their next poll", "error", err)
		}
	}
	return nil
}

// OnNews reads at once whether a stop was requested of a turn of this process, if any of them is among
// ids, or ids is empty.
func (r *Recorder) OnNews(ids []string) {
	r.mu.Lock()
	some := len(ids) == 0
	for _, id := range ids {
		some = some || r.turns[id] != nil
	}
	r.mu.Unlock()
	if some {
		select {
		case r.asked <- struct{}{}:
		default:
		}
	}
}

// beat says that this process is alive, and ends its turns that were taken over or stopped elsewhere.
func (r *Recorder) beat(ctx context.Context) error {
	r.mu.Lock()
	mine := make([]*Turn, 0, len(r.turns))
	for _, t := range r.turns {
		mine = append(mine, t)
	}
	r.mu.Unlock()
	if len(mine) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	held, err := r.store.Beat(ctx)
	if err != nil {
		return err
	}
	for _, t := range mine {
		if stop, ours := held[t.info.ID]; !ours || stop {
			t.mu.Lock()
			ended := t.ended
			t.mu.Unlock()
			if !ended {
				t.stopped(ours, !ours && r.isErased(ctx, t))
			}
		}
	}
	return nil
}

// isErased reports whether a journal was deleted with its conversation: its turn ends by itself, and
// cannot be saved.
func (r *Recorder) isErased(ctx context.Context, t *Turn) bool {
	_, known, err := r.store.Read(ctx, t.info.ID)
	return err == nil && !known
}

// stopped ends a turn that was stopped elsewhere, or taken over.
func (t *Turn) stopped(ours, erased bool) {
	if ours {
		t.cancel(ErrStop)
		return
	}
	if erased {
		t.of.forget([]string{t.info.ID})
		return
	}
	t.of.log.Warn("a turn was taken over by another process, as this one was silent for too long", "turn", t.info.ID)
	t.of.forget([]string{t.info.ID})
	t.cancel(ErrTaken)
}

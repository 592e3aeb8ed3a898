package turns

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"molar/schemas"
)

// Times of a [Sharing].
const (
	// tellEvery is the least time between two writes of news, so that many tokens of many turns
	// are written in one transaction with one notification.
	tellEvery = 50 * time.Millisecond
	// beatEvery is how often a process renews the leases of its turns.
	beatEvery = 2 * time.Second
	// netEvery is how often followers read without a notification, as a safety net; deafEvery is
	// how often while no notifications arrive.
	netEvery, deafEvery = 5 * time.Second, 500 * time.Millisecond
	// ledgerFor is the time limit of one exchange with the ledger.
	ledgerFor = 5 * time.Second
)

// A Sharing writes the turns of this process to the ledger for other replicas, and mirrors turns of
// other replicas for followers here. Its owner calls Run.
type Sharing struct {
	ledger Ledger
	log    *slog.Logger

	mu sync.Mutex
	// mine are the turns of this process, with the number of their items that the ledger holds;
	// theirs are the mirrors of turns of other processes, by id.
	mine   map[*Live]int
	theirs map[string]*Live
	// woken are the ids of mirrored turns that may have news.
	woken map[string]bool
	// closed is set when turns of other processes can no longer be followed here.
	closed bool

	// news wakes the loop that writes, words the one that reads, and calls the one that applies
	// decisions. deaf is set while no notifications arrive.
	news, words, calls chan struct{}
	deaf               atomic.Bool
	// asking counts the pending approvals and questions of this process.
	asking atomic.Int32
	// waits has the pending approvals and questions.
	waits *Waits
}

// NewSharing returns a sharing over a ledger.
func NewSharing(ledger Ledger, log *slog.Logger) *Sharing {
	return &Sharing{
		ledger: ledger, log: log, mine: make(map[*Live]int), theirs: make(map[string]*Live), woken: make(map[string]bool),
		news: make(chan struct{}, 1), words: make(chan struct{}, 1), calls: make(chan struct{}, 1),
	}
}

// Takes sets the approvals and questions that decisions made on other replicas are applied to. It
// must be called before Run.
func (s *Sharing) Takes(w *Waits) { s.waits = w }

// Run shares turns until ctx ends, and then writes the last news of the turns of this process,
// which must have ended by then.
func (s *Sharing) Run(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { s.listen(ctx) })
	loops.Go(func() { s.read(ctx) })
	loops.Go(func() { s.reap(ctx) })
	s.tell(ctx)
}

// nudge wakes a loop.
func nudge(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

// begin records a turn of this process in the ledger; from then on its items are written. A nil
// sharing does nothing.
func (s *Sharing) begin(ctx context.Context, t *Live) error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerFor)
	defer cancel()
	err := s.ledger.Begin(ctx, schemas.LiveTurn{ID: t.ID, Owner: t.owner, Assistant: t.assistant, ConversationID: t.conversation})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.mine[t] = 0
	s.mu.Unlock()
	t.Log.watch(func() { nudge(s.news) })
	return nil
}

// tell writes the news of the turns of this process, and renews their leases.
func (s *Sharing) tell(ctx context.Context) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	failed := false
	for {
		all := false
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerFor)
			defer cancel()
			_ = s.tellOnce(last, false) // no one reads the error at the end
			return
		case <-beat.C:
			all = true
		case <-s.news:
		}
		began := time.Now()
		round, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerFor)
		var err error
		if failed {
			err = s.reconcile(round)
		}
		if err == nil {
			err = s.tellOnce(round, all)
		}
		cancel()
		if err != nil {
			nudge(s.news)
			if !failed {
				s.log.Warn("turns cannot be shared with other replicas; retrying", "error", err)
			}
		}
		failed = err != nil
		pause(ctx, max(tellEvery-time.Since(began), tellEvery/4)) // news was collected during the write too
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

// tellOnce writes the news, and renews the leases; with all set, also of turns without news.
func (s *Sharing) tellOnce(ctx context.Context, all bool) error {
	news, of, reached := s.gather(all)
	if len(news) == 0 {
		return nil
	}
	stops, err := s.ledger.Tell(ctx, news)
	if err != nil {
		return err
	}
	var written []string
	for i, n := range news {
		stop, ours := stops[n.TurnID]
		switch {
		case !ours:
			s.log.Warn("a turn was ended by another replica, as this one was silent for too long", "turn_id", n.TurnID)
			of[i].cancel(ErrLost)
		case stop:
			of[i].cancel(ErrStopped)
		}
		if ours && (len(n.Rows) > 0 || n.Ended) {
			written = append(written, n.TurnID)
		}
		s.mu.Lock()
		if !ours || n.Ended {
			delete(s.mine, of[i])
		} else {
			s.mine[of[i]] = reached[i]
		}
		s.mu.Unlock()
	}
	if len(written) == 0 {
		return nil
	}
	if err := s.ledger.Wake(ctx, written...); err != nil {
		s.log.Debug("other replicas could not be notified; they read the news at their next poll", "error", err)
	}
	return nil
}

// gather returns the news to write, the turns they belong to, and the last item of each.
func (s *Sharing) gather(all bool) (news []schemas.LiveNews, of []*Live, reached []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, n := range s.mine {
		items, first, ended := t.Log.since(n)
		if len(items) == 0 && !ended && !all {
			continue
		}
		rows, err := rowsOf(items, first)
		if err != nil { // an event cannot be encoded as JSON: followers notice the gap
			s.log.Error("an event of a turn cannot be shared with other replicas", "turn_id", t.ID, "error", err)
		}
		one := schemas.LiveNews{TurnID: t.ID, Rows: rows, Ended: ended}
		if start := t.Start(); start != nil {
			one.ConversationID = start.ConversationID
		}
		news, of, reached = append(news, one), append(of, t), append(reached, first+len(items)-1)
	}
	return news, of, reached
}

// listen receives the notifications of other replicas, and logs when they do not arrive.
func (s *Sharing) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.ledger.Listen(ctx, s.wake, func(deaf bool) {
			if s.deaf.Swap(deaf) != deaf {
				s.logDeaf(deaf)
			}
		})
		if ctx.Err() != nil {
			return
		}
		if !s.deaf.Swap(true) {
			s.log.Warn("the connection that listens for other replicas broke; turns are polled until it is back", "error", err)
		}
		nudge(s.words)
		pause(ctx, time.Second)
	}
}

// logDeaf logs whether notifications arrive, and wakes the loop that reads.
func (s *Sharing) logDeaf(deaf bool) {
	if deaf {
		s.log.Warn("no notification of PostgreSQL comes through, as behind a pooler of transactions; turns of other replicas are polled")
	} else {
		s.log.Info("notifications of PostgreSQL come through again")
	}
	nudge(s.words)
}

// wake marks the mirrored turns among ids as having news, and wakes the loops.
func (s *Sharing) wake(ids []string) {
	s.mu.Lock()
	for _, id := range ids {
		if s.theirs[id] != nil {
			s.woken[id] = true
		}
	}
	some := len(s.woken) > 0
	s.mu.Unlock()
	if some {
		nudge(s.words)
	}
	if s.asking.Load() > 0 {
		nudge(s.calls)
	}
	nudge(s.news) // a stop of one of our turns may have been requested
}

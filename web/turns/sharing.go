package turns

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Times of a [Sharing].
const (
	// netEvery is how often followers read without a notification, as a safety net; deafEvery is
	// how often while no notifications arrive.
	netEvery, deafEvery = 5 * time.Second, 500 * time.Millisecond
	// ledgerFor is the time limit of one exchange with the ledger.
	ledgerFor = 5 * time.Second
)

// A Sharing mirrors turns of other replicas for followers here, and exchanges stops and decisions with
// them. Its owner calls Run.
type Sharing struct {
	ledger Ledger
	log    *slog.Logger

	mu sync.Mutex
	// theirs are the mirrors of turns of other processes, by id.
	theirs map[string]*Live
	// woken are the ids of mirrored turns that may have news.
	woken map[string]bool
	// closed is set when turns of other processes can no longer be followed here.
	closed bool

	// words wakes the loop that reads, and calls the one that applies decisions. deaf is set while no
	// notifications arrive.
	words, calls chan struct{}
	deaf         atomic.Bool
	// woke is called with the ids of each notification; nil ignores them.
	woke func(ids []string)
	// asking counts the pending approvals and questions of this process.
	asking atomic.Int32
	// waits has the pending approvals and questions.
	waits *Waits
}

// NewSharing returns a sharing over a ledger. woke, unless nil, is called with the ids of turns of which
// another replica has news, such as a request to stop one; none means that some may have been missed.
func NewSharing(ledger Ledger, woke func(ids []string), log *slog.Logger) *Sharing {
	return &Sharing{
		ledger: ledger, log: log, woke: woke, theirs: make(map[string]*Live), woken: make(map[string]bool),
		words: make(chan struct{}, 1), calls: make(chan struct{}, 1),
	}
}

// Takes sets the approvals and questions that decisions made on other replicas are applied to. It
// must be called before Run.
func (s *Sharing) Takes(w *Waits) { s.waits = w }

// Run shares turns until ctx ends.
func (s *Sharing) Run(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { s.listen(ctx) })
	loops.Go(func() { s.read(ctx) })
	s.decideHere(ctx)
}

// nudge wakes a loop.
func nudge(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
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
	if s.woke != nil {
		s.woke(ids)
	}
}

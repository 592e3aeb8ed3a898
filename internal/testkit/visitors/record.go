package visitors

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// shown is how many faults and leaks are told in words; all are counted.
const shown = 10

// An event is a question that was let through or refused.
type event struct {
	visitor, address int
	// The host counted it between sent and answered.
	sent, answered time.Time
	// limit and until are those of a refusal.
	limit string
	until time.Time
}

// A turn is one that a visitor began.
type turn struct {
	visitor int
	id      string
}

// A record is what the visitors note. It is safe for concurrent use.
type record struct {
	mu               sync.Mutex
	let, stopped     []event
	turns            []turn
	first, whole     []time.Duration
	faults, leaks    []string
	faulty, leaky    int
	tries, lookedAts int
}

func (r *record) admitted(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.let = append(r.let, e)
}

func (r *record) refused(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = append(r.stopped, e)
}

// answered notes a whole answer, with the times to its first word and to its end.
func (r *record) answered(visitor int, id string, first, whole time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turns = append(r.turns, turn{visitor, id})
	r.first, r.whole = append(r.first, first), append(r.whole, whole)
}

// turnOfAnother returns the id of a late turn of somebody else, or "".
func (r *record) turnOfAnother(visitor int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	late := r.turns[len(r.turns)/2:]
	for range 5 {
		if len(late) == 0 {
			return ""
		}
		if t := late[rand.N(len(late))]; t.visitor != visitor {
			return t.id
		}
	}
	return ""
}

func (r *record) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faulty++; len(r.faults) < shown {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

func (r *record) leak(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaky++; len(r.leaks) < shown {
		r.leaks = append(r.leaks, fmt.Sprintf(format, args...))
	}
}

func (r *record) looked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookedAts++
}

func (r *record) reached() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
}

// report sums up a run that took so long.
func (r *record) report(cfg Config, took time.Duration) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.first)
	slices.Sort(r.whole)
	return &Report{
		Visitors: cfg.Visitors, Addresses: cfg.Addresses, Hosts: len(cfg.Hosts), Took: took,
		Asked: len(r.let) + len(r.stopped), Answered: len(r.whole),
		First: r.first, Whole: r.whole,
		Limits: r.compare(cfg, took),
		Looked: r.lookedAts, Tried: r.tries, Leaks: r.leaks, LeakCount: r.leaky, Faults: r.faults, FaultCount: r.faulty,
	}
}

package host

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"molar/agent/memory"
	"molar/schemas"
)

const (
	// probeEvery is how long the answer of a probe stands, and how long one may take.
	probeEvery = 2 * time.Second
	// probePrefix begins the name of the conversation whose lease is taken, one for each
	// process. It never comes into being.
	probePrefix = "molar-ready-probe-"
)

// A writeProbe tells whether the store takes writes: it takes the lease of a conversation
// that nobody has, as each turn does first, on the way that turns go. So it sees a full
// disk, a locked database and a memory server that is away, whatever the store is.
type writeProbe struct {
	begin   func(ctx context.Context, r memory.BeginRequest) (schemas.Opening, error)
	release func(ctx context.Context, l schemas.Lease) error
	log     *slog.Logger

	mu   sync.Mutex
	id   string
	last time.Time
	err  error
}

// errNoWrites is what is told to anybody who asks; the log says why.
var errNoWrites = errors.New("the store of conversations takes no writes")

// check probes, unless that was done a moment ago.
func (p *writeProbe) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() && time.Since(p.last) < probeEvery {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeEvery) // who asks may leave
	defer cancel()
	if p.id == "" {
		p.id = probePrefix + rand.Text()
	}
	opening, err := p.begin(ctx, memory.BeginRequest{ConversationID: p.id})
	if err == nil {
		err = p.release(ctx, opening.Lease)
	}
	if err != nil {
		p.log.Warn("the store of conversations takes no writes", "error", err)
		err = errNoWrites
	}
	p.last, p.err = time.Now(), err
	return err
}

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
	// probeEvery is how long a probe's result is valid, and how long one may take.
	probeEvery = 2 * time.Second
	// probePrefix is the prefix of the conversation whose lease is taken, one for each
	// process. The conversation is never created.
	probePrefix = "molar-ready-probe-"
)

// A writeProbe checks whether the store takes writes: it takes the lease of an unused
// conversation, as each turn does first, by the same path. So it detects a full disk, a locked
// database and an unreachable memory server, with any store.
type writeProbe struct {
	begin   func(ctx context.Context, r memory.BeginRequest) (schemas.Opening, error)
	release func(ctx context.Context, l schemas.Lease) error
	log     *slog.Logger

	mu   sync.Mutex
	id   string
	last time.Time
	err  error
}

// errNoWrites is the public error; the log has the reason.
var errNoWrites = errors.New("the store of conversations takes no writes")

// check probes, unless the last probe is recent.
func (p *writeProbe) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() && time.Since(p.last) < probeEvery {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeEvery) // the client may leave
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

package host

import (
	"context"
	"sync"
)

// A Gate counts the running turns. After Announce, /ready reports that the host shuts down. After
// Shut, no turn may begin, while the port still answers and running turns finish.
type Gate struct {
	mu     sync.Mutex
	inside int
	// leaving is set before closed, so that load balancers notice first.
	leaving, closed bool
	empty           chan struct{} // closed when the gate is shut and the last turn has ended
}

func newGate() *Gate { return &Gate{empty: make(chan struct{})} }

// Enter reports whether a turn may begin; then the caller must call Leave.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside++
	}
	return !g.closed
}

// Leave ends a turn that entered.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// Shut refuses new turns and waits until all have left, or ctx ends.
func (g *Gate) Shut(ctx context.Context) {
	g.mu.Lock()
	g.leaving = true
	if !g.closed {
		g.closed = true
		if g.inside == 0 {
			close(g.empty)
		}
	}
	g.mu.Unlock()
	select {
	case <-g.empty:
	case <-ctx.Done():
	}
}

// Announce announces that the gate will be shut. Turns still enter.
func (g *Gate) Announce() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaving = true
}

func (g *Gate) isLeaving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaving
}

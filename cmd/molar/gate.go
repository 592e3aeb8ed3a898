package main

import (
	"context"
	"sync"
)

// A gate counts the turns that are being answered. Once it is closed none comes in,
// while the port still answers: a load balancer sees /ready turn away, and open
// answers end in peace.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when nobody is inside and nobody comes any more
}

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether a turn may begin; then it must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside++
	}
	return !g.closed
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// shut lets nobody in any more and waits until all have left, or ctx ends.
func (g *gate) shut(ctx context.Context) {
	g.mu.Lock()
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

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

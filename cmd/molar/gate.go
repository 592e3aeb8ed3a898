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
	// crowded is told when many turns are inside, and when they are few again; may be nil.
	crowded func(many bool)
	many    bool
}

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether a turn may begin; then it must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside++
		g.count()
	}
	return !g.closed
}

// count tells of a number that has become many, or few.
func (g *gate) count() {
	if g.crowded == nil || g.many && g.inside > fewTurns || !g.many && g.inside < manyTurns {
		return
	}
	g.many = !g.many
	g.crowded(g.many)
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.count()
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

package agent

import (
	"context"
	"sync"
)

// A Future is a value that is being worked out beside the turn.
type Future[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// Begin works a value out in a goroutine of the group, whose owner waits for it.
func Begin[T any](group *sync.WaitGroup, work func() (T, error)) *Future[T] {
	f := &Future[T]{done: make(chan struct{})}
	group.Go(func() {
		defer close(f.done)
		f.value, f.err = work()
	})
	return f
}

// Settled is a future that needs no waiting.
func Settled[T any](value T) *Future[T] {
	f := &Future[T]{done: make(chan struct{}), value: value}
	close(f.done)
	return f
}

// Wait returns the value once it is there, or the error of a context that ended before. It may
// be called again.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.value, f.err
	default:
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

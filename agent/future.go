package agent

import (
	"context"
	"sync"
)

// A Future is a value computed concurrently with the turn.
type future[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// begin computes a value in a goroutine of the group, whose owner waits for it.
func begin[T any](group *sync.WaitGroup, work func() (T, error)) *future[T] {
	f := &future[T]{done: make(chan struct{})}
	group.Go(func() {
		defer close(f.done)
		f.value, f.err = work()
	})
	return f
}

// settled returns a future that is done.
func settled[T any](value T) *future[T] {
	f := &future[T]{done: make(chan struct{}), value: value}
	close(f.done)
	return f
}

// Wait returns the value once it is done, or the error of a context that ended before. It may be
// called again.
func (f *future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.value, f.err
	default:
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

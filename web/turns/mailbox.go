package turns

import (
	"sync"

	"molar/agent/answer"
)

// A mailbox buffers events between their sender and a reader. put never blocks; it drops the event
// if the buffer is full.
type mailbox chan *answer.Event

func (m mailbox) put(ev answer.Event) {
	select {
	case m <- &ev:
	default:
	}
}

// empty passes the events to take, in a goroutine, until the returned function is called.
func (m mailbox) empty(take func(answer.Event)) (stop func()) {
	stopped := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case ev := <-m:
				take(*ev)
			case <-stopped:
				return
			}
		}
	})
	return func() {
		close(stopped)
		reader.Wait()
	}
}

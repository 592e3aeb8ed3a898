package turns

import (
	"context"
	"sync"

	"molar/agent"
	"molar/schemas"
)

// An asker reaches the person behind one turn by events of that turn.
type asker struct {
	h             *Host
	owner, turnID string
	// tell takes an event, and may wait for its reader; news takes one that nobody waits for.
	tell, news func(agent.Event)
	// sharing is nil for a turn that other replicas know nothing of.
	sharing *Sharing
}

var (
	_ agent.Approver = asker{}
	_ agent.Person   = asker{}
)

// Approve waits for the decision. Without one it fails when ctx ends.
func (k asker) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	return k.h.Approvals.ask(ctx, k.owner, k.turnID, ask, k.tell, k.sharing)
}

// Answer waits for the answer to a server's question.
func (k asker) Answer(ctx context.Context, q agent.Question) (schemas.Answer, error) {
	return k.h.Questions.ask(ctx, k.owner, k.turnID, q, k.tell)
}

// Hear passes on what a server says.
func (k asker) Hear(n schemas.News) {
	kind := agent.EventProgress
	if n.Level != "" {
		kind = agent.EventLog
	}
	k.news(agent.Event{Kind: kind, News: &n})
}

// A mailbox holds events until they are passed on, so that who brings them never waits for a
// slow reader; one too many is dropped.
type mailbox chan agent.Event

func (m mailbox) put(ev agent.Event) {
	select {
	case m <- ev:
	default:
	}
}

// empty passes events on in a goroutine, until the returned function is called.
func (m mailbox) empty(take func(agent.Event)) (stop func()) {
	stopped := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case ev := <-m:
				take(ev)
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

package turns

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// Questions are those of servers that wait for a person's answer, in the memory of the process
// that runs their turn.
type Questions struct {
	now func() time.Time

	mu   sync.Mutex
	open map[string]*openQuestion
}

type openQuestion struct {
	agent.Asked
	owner  string
	check  func(schemas.Answer) error
	answer chan schemas.Answer
}

// NewQuestions returns an empty set.
func NewQuestions(now func() time.Time) *Questions {
	return &Questions{now: now, open: make(map[string]*openQuestion)}
}

// ask waits for the answer. Without one it fails when ctx ends.
func (q *Questions) ask(ctx context.Context, owner, turnID string, asked agent.Question, tell func(agent.Event)) (schemas.Answer, error) {
	o := &openQuestion{
		Asked: agent.Asked{ID: "question_" + uuid.NewString(), TurnID: turnID, Question: asked.Question, Expires: asked.Expires.UTC()},
		owner: owner, answer: make(chan schemas.Answer, 1),
		check: func(a schemas.Answer) error { return asked.Check(a.Content) },
	}
	q.mu.Lock()
	q.open[o.ID] = o
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, o.ID)
	}()
	tell(agent.Event{Kind: agent.EventQuestion, Asked: &o.Asked})
	select {
	case a := <-o.answer:
		return a, nil
	case <-ctx.Done():
		return schemas.Answer{}, ctx.Err()
	}
}

// List returns what waits for the owner, the oldest expiry first.
func (q *Questions) List(owner string) []agent.Asked {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := []agent.Asked{}
	for _, o := range q.open {
		if o.owner == owner {
			waiting = append(waiting, o.Asked)
		}
	}
	slices.SortFunc(waiting, func(x, y agent.Asked) int { return x.Expires.Compare(y.Expires) })
	return waiting
}

// Answer hands an answer to the server that waits for it. It counts once.
func (q *Questions) Answer(owner, id string, a schemas.Answer) error {
	q.mu.Lock()
	o, ok := q.open[id]
	q.mu.Unlock()
	if !ok || o.owner != owner {
		e := *wire.NotFound("question")
		e.Message = "no server waits for an answer under this id: it was given, the question has expired, or its turn has ended"
		return &e
	}
	switch a.Action {
	case schemas.ActionAccept:
		if err := o.check(a); err != nil {
			return wire.Invalid("content", "the content does not fit the form: %v", err)
		}
	case schemas.ActionDecline, schemas.ActionCancel:
		a.Content = nil
	default:
		return wire.Invalid("action", "action %q is not known; use accept, decline or cancel", wire.Clip(a.Action, 40))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[id] != o {
		return errAnswered
	}
	delete(q.open, id)
	o.answer <- a
	return nil
}

var errAnswered = &wire.Error{
	Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: "already_answered", NoRetry: true,
	Message: "another answer came first",
}

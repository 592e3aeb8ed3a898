package web

import (
	"context"
	"math"
	"time"

	"molar/agent"
)

// newLiveTurn describes a turn that is about to run.
func (s *server) newLiveTurn(turn agent.Turn, cancel context.CancelCauseFunc) *liveTurn {
	return &liveTurn{
		id: turn.ID, owner: turn.Owner, assistant: turn.Assistant, conversation: turn.ConversationID,
		began: s.Now(), now: s.Now, cancel: cancel,
	}
}

// mark notes when the turn said something, and keeps what it says of itself. Pieces of
// text have no time: there are too many of them.
func (t *liveTurn) mark(it item) item {
	switch it.event.Kind {
	case agent.EventText, agent.EventThinking:
		return it
	case agent.EventStart:
		t.told.Store(it.event.Start)
	}
	it.at = t.now().Sub(t.began)
	return it
}

// soFar is what is known of a turn that runs, as the begin of its trace: who answers
// where, and of a turn that can be followed its answer. The rest is recorded at its end.
func (t *liveTurn) soFar(now time.Time) agent.Trace {
	trace := agent.Trace{
		TurnID: t.id, Status: turnRunning, Assistant: t.assistant, ConversationID: t.conversation,
		Started: t.began, TookMS: float64(now.Sub(t.began).Microseconds()) / 1000,
		Tools: []agent.ToolTrace{}, Passes: []agent.PassTrace{}, // not null: clients range over them
	}
	if told := t.told.Load(); told != nil {
		trace.Assistant, trace.ConversationID = told.Assistant, told.ConversationID
	}
	if t.log != nil {
		trace.Answer, _ = t.log.textUntil(math.MaxInt)
	}
	return trace
}

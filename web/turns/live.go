package turns

import (
	"context"
	"math"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// The states of a turn in the answers of routes.
const (
	Running  = "running"
	Over     = "ended"
	Stopping = "stopping"
)

// newLive returns the record of a turn that is about to run.
func (h *Host) newLive(turn agent.Turn, cancel context.CancelCauseFunc) *Live {
	return &Live{
		ID: turn.ID, owner: turn.Owner, assistant: turn.Assistant, conversation: turn.ConversationID,
		began: h.Now(), now: h.Now, cancel: cancel,
	}
}

// mark stamps the item with its time. Pieces of text have none: there are too many of them.
func (t *Live) mark(it Item) Item {
	if it.Event.Kind == answer.KindText || it.Event.Kind == answer.KindThinking {
		return it
	}
	it.At = t.now().Sub(t.began)
	return it
}

// SoFar returns the beginning of the trace of a running turn: its assistant and conversation, and
// the answer so far of a turn that can be followed. The rest is recorded at its end. For an ended
// turn, SoFar returns everything that this process knows about it.
func (t *Live) SoFar(now time.Time) answer.Trace {
	trace := answer.Trace{
		TurnID: t.ID, Status: Running, Assistant: t.assistant, ConversationID: t.conversation,
		Started: t.began, TookMS: float64(now.Sub(t.began).Microseconds()) / 1000,
		Tools: []answer.ToolTrace{}, Passes: []answer.PassTrace{}, // not null: clients iterate over them
	}
	if start := t.start.Load(); start != nil {
		trace.Assistant, trace.ConversationID = start.Assistant, start.ConversationID
	}
	if t.MayBeFollowed() {
		seen, _ := t.SeenUntil(math.MaxInt)
		trace.Answer, trace.Commentary = seen.Answer(), seen.Commentary
		if t.IsOver() {
			trace.Status, trace.Untraced, trace.TookMS = schemas.StatusInterrupted, true, 0
			switch trace.Done = seen.Done; {
			case seen.Done != nil && seen.Done.Refused:
				trace.Status = "refused"
			case seen.Done != nil:
				trace.Status = "done"
			}
		}
	}
	return trace
}

// SeenUntil returns the turn up to item n, and whether all of it is held.
func (t *Live) SeenUntil(n int) (seen answer.Collector, whole bool) {
	items, whole := t.Log.until(n)
	for _, it := range items {
		seen.Add(it.Event)
	}
	return seen, whole
}

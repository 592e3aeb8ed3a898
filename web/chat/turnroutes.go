package chat

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/pages"
	"molar/web/turns"
	"molar/web/wire"
)

// stopWait is how long a request to stop a turn waits for the end of the turn.
const stopWait = 5 * time.Second

// idOf returns the id of the turn that a request names by its id or by that of its completion.
func idOf(c *gin.Context) string { return strings.TrimPrefix(c.Param("id"), IDPrefix) }

// TurnEvents answers GET /v1/turns/{id}/events with the stream of a turn, from its beginning or
// after Last-Event-ID, including everything that molar.events adds.
func (s *Surface) TurnEvents(c *gin.Context) {
	w, r := http.ResponseWriter(c.Writer), c.Request
	t, ok, err := s.Turns.Find(r.Context(), s.Owner(r), idOf(c))
	if err != nil {
		wire.WriteError(w, wire.Failure(err))
		return
	}
	if !ok || !t.MayBeFollowed() {
		s.turnElsewhere(c, ok)
		return
	}
	last, err := lastEvent(r)
	if err != nil {
		wire.WriteError(w, wire.Failure(err))
		return
	}
	lastID := last
	last = t.NumberOf(lastID)
	have, gone, ended := t.Log.State()
	switch {
	case last < gone:
		wire.WriteError(w, turns.ErrEventsLost)
		return
	case ended && last >= have && !t.IsBroken(): // an EventSource reconnects until it gets a 204
		w.WriteHeader(http.StatusNoContent)
		return
	}
	id := identity{turn: t.ID, created: s.Turns.Now().Unix()}
	id.start(t.Start())
	f := t.Follow(r.Context(), lastID)
	defer f.End()
	st := newStreamer(w, id, true, true)
	st.numbered, st.Committed = true, true
	if c.Query("html") == "true" {
		if seen, whole := t.SeenUntil(last); whole {
			st.html = pages.NewFeed(s.HTML(), seen)
		}
	}
	s.logTurn(r, t.ID, wire.RequestID(w), s.stream(f, st))
}

// lastEvent returns the number of the last event that the client has received.
func lastEvent(r *http.Request) (int, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, wire.Invalid("Last-Event-ID", "Last-Event-ID %q is no number of an event", wire.Clip(text, 40))
	}
	return n, nil
}

// turnElsewhere answers for a turn whose events are not in this process: the turn is not detached,
// runs on a replica that does not share it, or ended too long ago.
func (s *Surface) turnElsewhere(c *gin.Context, running bool) {
	owner, id := s.Owner(c.Request), idOf(c)
	e := *wire.NotFound("turn")
	e.Message = "the events of this turn are not here; a turn can be followed with molar.detach, until 60 s after its end: at every replica on PostgreSQL, else at the host that runs it"
	state := turnState{Status: "unknown"}
	if running {
		state.Status = turns.Running
	} else if trace, ok, err := s.Traces.Trace(c.Request.Context(), owner, id); err == nil && ok && json.Unmarshal(trace, &state) == nil {
		s.savedAnswer(c, owner, id, &state)
	}
	body, err := json.Marshal(MissingTurn{ErrorObject: e.Object(""), turnState: state})
	if err != nil {
		wire.WriteError(c.Writer, &e)
		return
	}
	wire.WriteBody(c.Writer, e.Status, body)
}

// A MissingTurn is the error for a turn whose events are not in this process, with its state.
type MissingTurn struct {
	wire.ErrorObject
	turnState
}

type turnState struct {
	Status         string           `json:"status"`
	ConversationID string           `json:"conversation_id,omitempty"`
	Answer         string           `json:"answer,omitempty"`
	Sources        []schemas.Source `json:"sources,omitempty"`
}

// savedAnswer sets the stored answer of a turn, which is complete, in place of that of the trace.
func (s *Surface) savedAnswer(c *gin.Context, owner, turnID string, state *turnState) {
	messages, err := s.Conversations.Branch(c.Request.Context(), owner, state.ConversationID, turnID)
	if err != nil {
		return
	}
	for _, m := range messages {
		if m.TurnID == turnID && m.Role == schemas.RoleAssistant {
			state.Answer, state.Sources = m.Content, m.Sources
		}
	}
}

// StopTurn answers DELETE /v1/turns/{id}.
func (s *Surface) StopTurn(c *gin.Context) {
	t, ok, err := s.Turns.Find(c.Request.Context(), s.Owner(c.Request), idOf(c))
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	if !ok {
		s.turnElsewhere(c, false)
		return
	}
	status := turns.Over
	if !t.IsOver() {
		t.Stop()
		status = "stopped"
		late := time.NewTimer(stopWait)
		defer late.Stop()
		select {
		case <-t.Ended():
		case <-late.C:
			status = turns.Stopping
		case <-c.Request.Context().Done():
			return
		}
	}
	wire.WriteJSON(c.Writer, map[string]string{"id": t.ID, "object": "turn", "status": status})
}

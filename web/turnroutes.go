package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
)

// stopWait is how long a request to stop a turn waits for its end.
const stopWait = 5 * time.Second

// The states of a turn, as the routes here name them.
const (
	turnRunning  = "running"
	turnEnded    = "ended"
	turnStopping = "stopping"
)

// turnEvents answers GET /v1/turns/{id}/events: the turn's stream, from its begin or
// after Last-Event-ID, with everything that molar.events gives.
func (s *server) turnEvents(c *gin.Context) {
	w, r := http.ResponseWriter(c.Writer), c.Request
	t, ok := s.Turns.find(s.Owner(r), c.Param("id"))
	if !ok || t.log == nil {
		s.turnElsewhere(c, ok)
		return
	}
	last, err := lastEvent(r)
	if err != nil {
		writeError(w, failureOf(err))
		return
	}
	have, gone, ended, start := t.log.state()
	switch {
	case last < gone:
		writeError(w, errEventsLost)
		return
	case ended && last >= have: // an EventSource asks again until it is told to stop
		w.WriteHeader(http.StatusNoContent)
		return
	}
	id := identity{turn: t.id, created: s.Now().Unix()}
	id.start(start)
	f := t.log.follow(r.Context(), last)
	defer f.end()
	st := newStreamer(w, id, true, true)
	st.numbered, st.committed = true, true
	if c.Query("html") == "true" {
		if text, whole := t.log.textUntil(last); whole {
			st.html = &htmlFeed{write: s.markdown(), pending: text}
		}
	}
	s.logTurn(r, t.id, requestID(w), s.stream(f, st))
}

// lastEvent reads the number of the last event that the client has.
func lastEvent(r *http.Request) (int, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalid("Last-Event-ID", "Last-Event-ID %q is no number of an event", clip(text, 40))
	}
	return n, nil
}

// turnElsewhere says what became of a turn whose events are not here: it ran with its
// client's connection, on another replica, or too long ago.
func (s *server) turnElsewhere(c *gin.Context, running bool) {
	owner, id := s.Owner(c.Request), strings.TrimPrefix(c.Param("id"), completionPrefix)
	e := *notFound("turn")
	e.message = "the events of this turn are not here; a turn can be followed with molar.detach, until 60 s after its end, at the host that runs it"
	found := turnState{Status: "unknown"}
	if running {
		found.Status = turnRunning
	} else if trace, ok, err := s.Traces.Trace(c.Request.Context(), owner, id); err == nil && ok && json.Unmarshal(trace, &found) == nil {
		s.savedAnswer(c, owner, id, &found)
	}
	var body map[string]json.RawMessage
	state, err := json.Marshal(found)
	if err != nil || json.Unmarshal(e.body(""), &body) != nil || json.Unmarshal(state, &body) != nil {
		writeError(c.Writer, &e)
		return
	}
	all, err := json.Marshal(body)
	if err != nil {
		writeError(c.Writer, &e)
		return
	}
	writeBody(c.Writer, e.status, all)
}

// A turnState is what stands beside the error of a turn that is not here.
type turnState struct {
	Status         string           `json:"status"`
	ConversationID string           `json:"conversation_id,omitempty"`
	Answer         string           `json:"answer,omitempty"`
	Sources        []schemas.Source `json:"sources,omitempty"`
}

// savedAnswer puts the stored answer, which is whole, in place of the trace's.
func (s *server) savedAnswer(c *gin.Context, owner, turnID string, found *turnState) {
	messages, _, ok, err := s.Conversations.Messages(c.Request.Context(), owner, found.ConversationID)
	if err != nil || !ok {
		return
	}
	for _, m := range messages {
		if m.TurnID == turnID && m.Role == schemas.RoleAssistant {
			found.Answer, found.Sources = m.Content, m.Sources
		}
	}
}

// stopTurn answers DELETE /v1/turns/{id}.
func (s *server) stopTurn(c *gin.Context) {
	t, ok := s.Turns.find(s.Owner(c.Request), c.Param("id"))
	if !ok {
		s.turnElsewhere(c, false)
		return
	}
	status := turnEnded
	if !t.isOver() {
		t.cancel(errStopped)
		status = "stopped"
		late := time.NewTimer(stopWait)
		defer late.Stop()
		select {
		case <-t.done:
		case <-late.C:
			status = turnStopping
		case <-c.Request.Context().Done():
			return
		}
	}
	writeJSON(c.Writer, map[string]string{"id": t.id, "object": "turn", "status": status})
}

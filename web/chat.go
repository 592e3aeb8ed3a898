package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"molar/agent"
	"molar/providers"
)

// errCut is a turn that ended without saying so.
var errCut = errors.New("the turn ended before its last event")

// chat answers POST /v1/chat/completions, as a stream or whole.
func (s *server) chat(c *gin.Context) {
	w, r := http.ResponseWriter(c.Writer), c.Request
	req, err := readChat(r)
	if err != nil {
		writeError(w, failureOf(err))
		return
	}
	turn, err := req.turn(r.Header)
	if err != nil {
		writeError(w, failureOf(err))
		return
	}
	turn.ID = uuid.NewString()
	turn.Owner = s.Owner(r)
	id := identity{turn: turn.ID, model: turn.Assistant, conversation: turn.ConversationID, created: s.Now().Unix()}

	f := startFeed(r.Context(), s.Agent, turn, s.Logger)
	defer f.stop()
	if req.Stream {
		err = s.stream(f, newStreamer(w, id, req.StreamOptions.IncludeUsage, req.Molar.Events))
	} else {
		err = s.whole(w, f, &completion{identity: id, events: req.Molar.Events})
	}
	s.logTurn(r, turn.ID, requestID(w), err)
}

func (s *server) logTurn(r *http.Request, turnID, requestID string, err error) {
	attrs := []slog.Attr{slog.String("turn_id", turnID), slog.String("request_id", requestID)}
	level, msg := slog.LevelInfo, "turn answered"
	switch {
	case r.Context().Err() != nil:
		msg = "client left"
	case err != nil:
		level, msg = slog.LevelWarn, "turn failed"
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	s.Logger.LogAttrs(r.Context(), level, msg, attrs...)
}

// identity is what all parts of an answer share.
type identity struct {
	turn         string
	model        string
	conversation string
	// created is in Unix seconds.
	created int64
}

func (id identity) completion() string { return "chatcmpl-" + id.turn }

// start takes over what the turn decided by itself.
func (id *identity) start(st *agent.Start) {
	if st == nil {
		return
	}
	if st.TurnID != "" {
		id.turn = st.TurnID
	}
	if st.ConversationID != "" {
		id.conversation = st.ConversationID
	}
	if id.model == "" {
		id.model = st.Assistant
	}
	if !st.Created.IsZero() {
		id.created = st.Created.Unix()
	}
}

// finishOf gives a turn's reason to stop in OpenAI's words. Tools that the host
// ran itself are no reason.
func finishOf(d *agent.Done) string {
	if d.Finish == "" || d.Finish == providers.FinishToolCalls {
		return string(providers.FinishStop)
	}
	return strings.ToLower(string(d.Finish))
}

// isTool reports whether ev says that a tool may have had its effect.
func isTool(ev agent.Event) bool {
	return ev.Kind == agent.EventToolCall || ev.Kind == agent.EventToolResult
}

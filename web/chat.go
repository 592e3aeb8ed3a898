package web

import (
	"context"
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

	f, end, err := s.feedOf(r, &req, turn)
	if err != nil {
		writeError(w, failureOf(err))
		return
	}
	defer end()
	if req.Stream {
		st := newStreamer(w, id, req.StreamOptions.IncludeUsage, req.Molar.Events)
		if req.Molar.HTML {
			st.html = &htmlFeed{write: s.markdown()}
		}
		err = s.stream(f, st)
	} else {
		err = s.whole(w, f, &completion{identity: id, events: req.Molar.Events})
	}
	s.logTurn(r, turn.ID, requestID(w), err)
}

// feedOf runs the turn and gives its feed, and what to call in the end. A turn that is
// detached or has a key runs on when the client leaves: the client says with either
// that it comes back. All others end with their connection.
func (s *server) feedOf(r *http.Request, req *chatRequest, turn agent.Turn) (*feed, func(), error) {
	if req.Molar.Detach || turn.Key != "" {
		t, err := s.detach(r, req, turn)
		if err != nil {
			return nil, nil, err
		}
		f := t.log.follow(r.Context(), 0)
		return f, f.stop, nil
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	f, ctx := newFeed(ctx)
	if req.Stream && req.Molar.Events {
		turn.Approver = asker{s.approvals, turn.Owner, turn.ID, func(ev agent.Event) { f.send(item{event: ev}) }}
	}
	t := &liveTurn{id: turn.ID, owner: turn.Owner, cancel: cancel}
	s.Turns.attach(t)
	f.start(ctx, s.Agent, turn, s.Logger)
	return f, func() { f.stop(); s.Turns.end(t) }, nil
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

const (
	// completionPrefix stands before the id of a turn in that of its completion.
	completionPrefix = "chatcmpl-"
	// turnIDHeader names the turn to those who want to follow or stop it.
	turnIDHeader = "X-Turn-Id"
)

func (id identity) completion() string { return completionPrefix + id.turn }

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
	if d.Finish == "" || d.Finish == providers.FinishToolCalls && len(d.Calls) == 0 {
		return string(providers.FinishStop)
	}
	return strings.ToLower(string(d.Finish))
}

// isTool reports whether ev says that a tool may have had its effect.
func isTool(ev agent.Event) bool {
	return ev.Kind == agent.EventToolCall || ev.Kind == agent.EventToolResult
}

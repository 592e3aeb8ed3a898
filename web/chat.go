package web

import (
	"context"
	"errors"
	"fmt"
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
	f, id, err := s.begin(r, req)
	if err != nil {
		writeError(w, failureOf(err))
		return
	}
	defer f.end()
	if req.Stream {
		err = s.stream(f, s.streamerOf(w, id, req))
	} else {
		err = s.whole(w, f, completionOf(id, req))
	}
	s.logTurn(r, id.turn, requestID(w), err)
}

func completionOf(id *identity, req *chatRequest) *completion {
	return &completion{identity: *id, events: req.Molar.Events}
}

func (s *server) streamerOf(w http.ResponseWriter, id *identity, req *chatRequest) *streamer {
	st := newStreamer(w, *id, req.StreamOptions.IncludeUsage, req.Molar.Events)
	st.numbered = req.Molar.Events && req.Molar.Detach // it may come back for the rest
	if req.Molar.HTML {
		st.html = &htmlFeed{write: s.markdown()}
	}
	return st
}

// begin begins the turn that the request asks for. It is apart from chat, which lasts as
// long as the answer, because a turn is large and the stack of a stream should be small.
func (s *server) begin(r *http.Request, req *chatRequest) (*feed, *identity, error) {
	turn, err := req.turn(r.Header)
	if err != nil {
		return nil, nil, err
	}
	if err := s.mayChoose(turn); err != nil {
		return nil, nil, err
	}
	turn.ID = uuid.NewString()
	turn.Owner = s.Owner(r)
	f, err := s.feedOf(r, req, turn)
	return f, &identity{turn: turn.ID, model: turn.Assistant, conversation: turn.ConversationID, created: s.Now().Unix()}, err
}

// mayChoose refuses a model that the config does not allow to clients with a key: it
// would be paid for by somebody else. It returns nil when all is well.
func (s *server) mayChoose(t agent.Turn) *apiError {
	if s.MayChoose == nil || !s.Access.Keys.On() {
		return nil
	}
	for _, c := range []struct{ param, model string }{{"molar.model", t.Model}, {"molar.guardrail_model", t.GuardrailModel}} {
		if c.model != "" && !s.MayChoose(t.Assistant, t.Provider, c.model) {
			return &apiError{
				status: http.StatusForbidden, kind: typePermission, code: "model_not_allowed", param: c.param,
				message: fmt.Sprintf("clients with a key may not choose the model %q here; leave it out, name its provider in molar.provider, or have it added to llm.*.allow", clip(c.model, 100)),
			}
		}
	}
	return nil
}

// feedOf gives the feed of the turn. A turn that is detached or has a key runs on when the client leaves: the client says with either
// that it comes back. All others end with their connection.
func (s *server) feedOf(r *http.Request, req *chatRequest, turn agent.Turn) (*feed, error) {
	if req.Molar.Detach || turn.Key != "" {
		t, err := s.detach(r, req, turn)
		if err != nil {
			return nil, err
		}
		return t.log.follow(r.Context(), 0), nil
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	f, ctx := newFeed(ctx)
	if req.Stream && req.Molar.Events {
		turn.Approver = asker{s.approvals, turn.Owner, turn.ID, func(ev agent.Event) { f.beside(ev) }}
	}
	t := s.newLiveTurn(turn, cancel)
	s.Turns.attach(t)
	f.run = func(send func(item) bool) {
		pump(ctx, s.Agent, turn, s.Logger, func(it item) bool {
			return send(t.mark(it))
		})
	}
	f.end = func() { f.stop(); s.Turns.end(t) }
	return f, nil
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

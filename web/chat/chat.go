package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
	"molar/web/pages"
	"molar/web/turns"
	"molar/web/wire"
)

// Chat answers POST /v1/chat/completions, as a stream or whole.
func (s *Surface) Chat(c *gin.Context) {
	w, r := http.ResponseWriter(c.Writer), c.Request
	req, err := readChat(r)
	if err != nil {
		wire.WriteError(w, wire.Failure(err))
		return
	}
	f, id, err := s.begin(r, req)
	if err != nil {
		wire.WriteError(w, wire.Failure(err))
		return
	}
	defer f.End()
	if req.Stream {
		err = s.stream(f, s.streamerOf(w, id, req))
	} else {
		err = s.whole(w, f, completionOf(id, req))
	}
	s.logTurn(r, id.turn, wire.RequestID(w), err)
}

func completionOf(id *identity, req *chatRequest) *completion {
	return &completion{identity: *id, events: req.Molar.Events}
}

func (s *Surface) streamerOf(w http.ResponseWriter, id *identity, req *chatRequest) *streamer {
	st := newStreamer(w, *id, req.StreamOptions.IncludeUsage, req.Molar.Events)
	st.numbered = req.Molar.Events && req.Molar.Detach // such a client may reconnect for the rest
	if req.Molar.HTML {
		st.html = pages.NewFeed(s.HTML(), answer.Collector{})
	}
	return st
}

// begin starts the requested turn. It is a separate function because a turn is large, and should
// not be on the stack of Chat, which runs as long as the answer.
func (s *Surface) begin(r *http.Request, req *chatRequest) (*turns.Feed, *identity, error) {
	if len(req.Messages) > s.MaxMessages {
		return nil, nil, wire.Invalid("messages", "the request has %d messages, and this server accepts %d: send the newest, or raise limits.messages", len(req.Messages), s.MaxMessages)
	}
	turn, err := req.turn(r.Header)
	if err != nil {
		return nil, nil, err
	}
	if len(turn.Schema) > 0 {
		if err := s.schemas.Check(turn.Schema, "response_format.json_schema.schema"); err != nil {
			return nil, nil, err
		}
	}
	if int64(req.text) > s.MaxBody {
		return nil, nil, wire.TooLarge(s.MaxBody)
	}
	if err := s.mayChoose(turn); err != nil {
		return nil, nil, err
	}
	turn.ID = schemas.NewID()
	turn.Owner = s.Owner(r)
	s.SetOrigins(r, &turn)
	t, err := s.Turns.Begin(r.Context(), turns.Request{
		Turn: turn, Hash: req.hash, Detach: req.Molar.Detach, Shared: req.Molar.Detach || turn.Key != "", Asks: req.Molar.Detach || req.Stream && req.Molar.Events, Answers: req.Molar.Detach || req.Stream && req.Molar.Events,
	})
	if err != nil {
		return nil, nil, err
	}
	return t.Follow(r.Context(), 0), &identity{turn: turn.ID, model: turn.Assistant, conversation: turn.ConversationID, created: s.Turns.Now().Unix()}, nil
}

// mayChoose returns an error for a model that the config does not allow to clients with a key,
// since the operator pays for it; it returns nil if the model is allowed.
func (s *Surface) mayChoose(t agent.Turn) *wire.Error {
	for _, c := range []struct{ param, model string }{{"molar.model", t.Model}, {"molar.guardrail_model", t.GuardrailModel}} {
		if c.model != "" && !s.MayChoose(t.Assistant, t.Provider, c.model) {
			return &wire.Error{
				Status: http.StatusForbidden, Kind: wire.TypePermission, Code: "model_not_allowed", Param: c.param,
				Message: fmt.Sprintf("clients with a key may not choose the model %q here; leave it out, name its provider in molar.provider, or have it added to llm.*.allow", wire.Clip(c.model, 100)),
			}
		}
	}
	return nil
}

func (s *Surface) logTurn(r *http.Request, turnID, requestID string, err error) {
	attrs := []slog.Attr{slog.String("turn_id", turnID), slog.String("request_id", requestID)}
	level, msg := slog.LevelInfo, "turn answered"
	switch {
	case errors.Is(context.Cause(r.Context()), turns.ErrShuttingDown):
		msg = "answer cut: the server is shutting down"
	case r.Context().Err() != nil:
		msg = "client left"
	case err != nil:
		level, msg = slog.LevelWarn, "turn failed"
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	s.Turns.Logger.LogAttrs(r.Context(), level, msg, attrs...)
}

// An identity has the values that all parts of an answer share.
type identity struct {
	turn         string
	model        string
	conversation string
	// created is in Unix seconds.
	created int64
}

const (
	// IDPrefix followed by the id of a turn is the id of its completion.
	IDPrefix = "chatcmpl-"
	// turnIDHeader has the id of the turn, for clients that follow or stop it. conversationHeader
	// has the id of the conversation, for clients that continue it; it is set even if the turn
	// fails.
	turnIDHeader       = "X-Turn-Id"
	conversationHeader = "X-Conversation-Id"
	// savedHeader has the value "false" if the turn is not stored because the store failed.
	savedHeader = "X-Molar-Saved"
)

func (id identity) completion() string { return IDPrefix + id.turn }

// headers sets the headers that name the turn and its conversation.
func (id identity) headers(h http.Header) {
	h.Set(turnIDHeader, id.turn)
	if id.conversation != "" {
		h.Set(conversationHeader, id.conversation)
	}
}

// failure returns the error object for the error that ended the turn. acted means that a tool may
// have had its effect.
func (id identity) failure(err error, acted bool) *wire.Error {
	e := wire.Failure(err)
	if acted {
		e = e.AfterTurnTool()
	}
	return e.OfTurn(wire.TurnRef{ConversationID: id.conversation, TurnID: id.turn})
}

// start sets the values that the start event of the turn has.
func (id *identity) start(st *answer.Start) {
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

// finishOf returns OpenAI's finish reason for a turn. It is "tool_calls" only for calls that the
// client has to run.
func finishOf(d *answer.Done) string {
	if d.Finish == "" || d.Finish == providers.FinishToolCalls && len(d.Calls) == 0 {
		return string(providers.FinishStop)
	}
	return strings.ToLower(string(d.Finish))
}

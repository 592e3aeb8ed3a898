package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas/responses"
	"molar/web/wire"
)

// socketAge is the longest time that a WebSocket may be open.
const socketAge = time.Hour

// A socketError reports a failed request over a WebSocket.
type socketError struct {
	Type   string               `json:"type"`
	Status int                  `json:"status"`
	Error  responses.EventError `json:"error"`
}

func encodeError(err error) []byte {
	e := failure(err)
	o := socketError{Type: "error", Status: e.Status, Error: responses.EventError{Type: e.Kind, Code: &e.Code, Message: e.Message}}
	if e.Param != "" {
		o.Error.Param = &e.Param
	}
	data, _ := json.Marshal(o) // strings and a number
	return data
}

// Socket answers GET /v1/responses: it serves a WebSocket that sends one response after the other.
func (s *Surface) Socket(c *gin.Context) {
	if !wire.IsUpgrade(c.Request) {
		c.Header("Upgrade", "websocket")
		writeError(c.Writer, &wire.Error{
			Status: http.StatusUpgradeRequired, Kind: typeInvalid, Code: "upgrade_required",
			Message: "GET takes a WebSocket here; POST asks for a response",
		})
		return
	}
	chain, ended := &socketChain{}, make(chan struct{})
	socket := wire.Socket{
		MaxMessage: s.MaxBody, MaxAge: socketAge, Closing: s.Turns.Set.Closing(),
		Late: encodeError(&wire.Error{
			Status: http.StatusBadRequest, Kind: typeInvalid, Code: "websocket_connection_limit_reached",
			Message: "a connection may be open for 60 minutes; open another one",
		}),
		Answer: func(ctx context.Context, message []byte, send func([]byte) error) {
			s.answerMessage(c.Request.WithContext(ctx), chain, message, send)
		},
	}
	err := s.Turns.Set.Go(func() { // so that a drain waits for it
		defer close(ended)
		socket.Serve(c.Writer, c.Request)
	})
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	<-ended
}

// answerMessage answers a message of a WebSocket with the events of its response, or with an error.
// A failed response that continued the connection's chain empties the chain.
func (s *Surface) answerMessage(r *http.Request, chain *socketChain, message []byte, send func([]byte) error) {
	q, err := readMessage(message)
	if err == nil {
		err = s.Admit(r)
	}
	var l *live
	if err == nil {
		bound, end := s.Bind(r)
		defer end()
		r, q.chain = bound, chain
		l, err = s.start(r, q)
	}
	if err == nil {
		if !q.Molar.Detach {
			defer s.leave(r.Context(), l)
		}
		err = s.sendAll(r.Context(), l, send)
	}
	switch {
	case q.PreviousResponseID != nil && (err != nil || l.failure != nil):
		chain.drop(*q.PreviousResponseID)
	case err == nil && l.ended() && l.failure == nil && !q.stored():
		chain.add(l.id, &l.record)
	}
	if err != nil {
		_ = send(encodeError(err)) // the client may be gone
	}
}

// readMessage reads a message that requests a response.
func readMessage(message []byte) (*Request, error) {
	q := &Request{size: len(message)}
	var head struct {
		Type          string          `json:"type"`
		Stream        json.RawMessage `json:"stream"`
		StreamOptions json.RawMessage `json:"stream_options"`
		Background    json.RawMessage `json:"background"`
		Generate      json.RawMessage `json:"generate"`
	}
	if err := wire.DecodeBody(message, &head); err != nil {
		return q, err
	}
	if head.Type != "response.create" {
		return q, wire.Unsupported("type", "a message must be of type response.create")
	}
	for field, given := range map[string]json.RawMessage{
		"stream": head.Stream, "stream_options": head.StreamOptions, "background": head.Background, "generate": head.Generate,
	} {
		if wire.IsSet(given) {
			return q, wire.Unsupported(field, field+" is not allowed in a message of a WebSocket; leave it out")
		}
	}
	if err := wire.Decode(message, q, ""); err != nil {
		return q, err
	}
	return q, cmp.Or(unknownField(message, "type"), q.check())
}

// sendAll sends the events of a response until its end. It returns a failure that the events do not
// contain.
func (s *Surface) sendAll(ctx context.Context, l *live, send func([]byte) error) error {
	for n := 0; ctx.Err() == nil; {
		events, err := l.log.After(ctx, n)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		n += len(events)
		for _, ev := range events {
			if ev.Type == "error" { // the last event of the response contains it
				continue
			}
			if send(ev.Data) != nil {
				return nil // the client has disconnected, and ctx ends
			}
		}
	}
	if l.ended() && l.failure != nil && !l.render.Began {
		return l.failure
	}
	return nil
}

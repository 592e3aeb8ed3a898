package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// Bounds of what the desk writes, in characters.
const (
	maxDeskText   = 10_000
	maxDeskAuthor = 100
)

// A HandoverDesk reads and answers the people who asked for somebody at the desk.
type HandoverDesk interface {
	// List returns up to limit hand-overs in some states, the newest first. after is the id of the last one
	// of the page before, "" for the first page.
	List(ctx context.Context, states []schemas.HandoverState, limit int, after string) ([]schemas.Handover, error)
	// Newest returns the newest hand-over of a conversation, closed or not.
	Newest(ctx context.Context, conversation string) (h schemas.Handover, ok bool, err error)
	// Messages returns the messages of its conversation whose Seq is above after.
	Messages(ctx context.Context, of schemas.Handover, after int64) ([]schemas.DeskMessage, error)
	// Write stores a message of the desk; the same key and text store it once, and a key may be empty. It fails
	// with [schemas.ErrHandoverClosed], [schemas.ErrOtherMessage] or [agent.ErrBusy].
	Write(ctx context.Context, to schemas.Handover, text, key string) (schemas.DeskMessage, error)
	// Close ends it; one that is closed stays so.
	Close(ctx context.Context, of schemas.Handover, by string) error
}

var (
	errHandoverClosed = &wire.Error{
		Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: "handover_closed", NoRetry: true,
		Message: "the hand-over is closed: the person talks with the assistant again, and nothing was written",
	}
	errOtherMessage = &wire.Error{
		Status: http.StatusUnprocessableEntity, Kind: wire.TypeInvalid, Code: "idempotency_key_reused", NoRetry: true,
		Message: "this Idempotency-Key was sent with another text; choose a new key for a new message",
	}
)

// routeHandovers adds the routes of the desk.
func (s *server) routeHandovers(e *gin.Engine) {
	if s.Handovers == nil {
		return
	}
	review := s.scope(httpguard.ScopeReview)
	e.GET("/v1/handovers", review, s.listHandovers)
	e.GET("/v1/conversations/:id/messages", review, possibleID, s.deskMessages)
	e.POST("/v1/conversations/:id/messages", review, possibleID, s.writeMessage)
}

// A handoverList is a page of hand-overs.
type handoverList struct {
	list[schemas.Handover]
	// Next is the cursor of the next page.
	Next string `json:"next,omitempty"`
}

// listHandovers answers GET /v1/handovers. What people wrote is with their messages, whose reading is recorded.
func (s *server) listHandovers(c *gin.Context) {
	states, known := handoverStates(c.DefaultQuery("state", "open"))
	limit, err := strconv.Atoi(c.DefaultQuery("limit", strconv.Itoa(defaultPage)))
	after := c.Query("after")
	switch {
	case !known:
		wire.WriteError(c.Writer, wire.Invalid("state", "state must be open, all, or some of sending, delivered, failed, answered, closed with commas between"))
		return
	case err != nil || limit < 1 || limit > maxPage:
		wire.WriteError(c.Writer, wire.Invalid("limit", "limit must be a number from 1 to %d", maxPage))
		return
	case after != "" && !wire.IsID(after):
		wire.WriteError(c.Writer, wire.Invalid("after", "after must be the next of the page before"))
		return
	}
	found, err := s.Handovers.List(c.Request.Context(), states, limit, after)
	if err != nil {
		s.storeError(c, "handovers", err)
		return
	}
	page := handoverList{list: listOf([]schemas.Handover{})}
	for _, h := range found {
		if s.mayAnswer(c.Request, h) {
			h.Contact = nil
			page.Data = append(page.Data, h)
		}
	}
	if len(found) == limit {
		page.Next = found[limit-1].ID
	}
	wire.WriteJSON(c.Writer, page)
}

// handoverStates returns the states that a filter selects.
func handoverStates(filter string) ([]schemas.HandoverState, bool) {
	all := append(schemas.HandoverStates(), schemas.HandoverClosed)
	switch filter {
	case "open":
		return schemas.HandoverStates(), true
	case "all":
		return all, true
	}
	var states []schemas.HandoverState
	for name := range strings.SplitSeq(filter, ",") {
		if !slices.Contains(all, schemas.HandoverState(name)) {
			return nil, false
		}
		states = append(states, schemas.HandoverState(name))
	}
	return states, true
}

// mayAnswer reports whether the client of a request may answer people who ask this assistant.
func (s *server) mayAnswer(r *http.Request, h schemas.Handover) bool {
	return httpguard.PrincipalOf(r.Context()).Rights.Assistant(h.Assistant)
}

// handoverOf returns the newest hand-over of the conversation of a request, or answers that there is none.
func (s *server) handoverOf(c *gin.Context) (schemas.Handover, bool) {
	h, ok, err := s.Handovers.Newest(c.Request.Context(), c.Param("id"))
	if err == nil && (!ok || !s.mayAnswer(c.Request, h)) {
		err = agent.ErrNotFound
	}
	if err != nil {
		s.storeError(c, "handover", err)
		return h, false
	}
	return h, true
}

// A deskThread is the conversation of a hand-over.
type deskThread struct {
	list[schemas.DeskMessage]
	Handover schemas.Handover `json:"handover"`
}

// deskMessages answers GET /v1/conversations/{id}/messages. An answer without anything that the person wrote is
// not recorded, so that the desk can ask for news.
func (s *server) deskMessages(c *gin.Context) {
	after, err := strconv.ParseInt(c.DefaultQuery("after", "0"), 10, 64)
	if err != nil || after < 0 {
		wire.WriteError(c.Writer, wire.Invalid("after", "after must be the seq of a message"))
		return
	}
	h, ok := s.handoverOf(c)
	if !ok {
		return
	}
	all, err := s.Handovers.Messages(c.Request.Context(), h, after)
	if err == nil && (len(all) > 0 || after == 0) {
		err = s.recordFirst(c.Request, "", h.ID+" read")
	}
	if err != nil {
		s.storeError(c, "handover", err)
		return
	}
	if after > 0 {
		h.Contact = nil
	}
	wire.WriteJSON(c.Writer, deskThread{listOf(all), h})
}

// A deskBody is the body of POST /v1/conversations/{id}/messages.
type deskBody struct {
	// Text is what the person reads; it may be empty with Close.
	Text string `json:"text,omitempty"`
	// Author is who at the desk writes, for the audit.
	Author string `json:"author,omitempty"`
	// Close ends the hand-over, after the text.
	Close bool `json:"close,omitempty"`
}

// check returns the body with its spaces trimmed, or what is wrong with it.
func (b deskBody) check() (deskBody, error) {
	b.Text, b.Author = strings.TrimSpace(b.Text), strings.TrimSpace(b.Author)
	switch {
	case b.Text == "" && !b.Close:
		return b, wire.Invalid("text", "text is missing: write what the person is to read, or set close")
	case utf8.RuneCountInString(b.Text) > maxDeskText:
		return b, wire.Invalid("text", "text must have at most %d characters", maxDeskText)
	case utf8.RuneCountInString(b.Author) > maxDeskAuthor || strings.ContainsFunc(b.Author, unicode.IsControl):
		return b, wire.Invalid("author", "author must be a name of at most %d characters on one line", maxDeskAuthor)
	}
	return b, nil
}

// A deskAnswer says what POST /v1/conversations/{id}/messages did.
type deskAnswer struct {
	Object         string `json:"object"`
	HandoverID     string `json:"handover_id"`
	ConversationID string `json:"conversation_id"`
	// Message is what was written; absent without a text.
	Message *schemas.DeskMessage `json:"message,omitempty"`
	Closed  bool                 `json:"closed"`
}

// writeMessage answers POST /v1/conversations/{id}/messages: the desk writes to a person who asked for it, closes
// the hand-over, or both.
func (s *server) writeMessage(c *gin.Context) {
	var body deskBody
	err := wire.ReadBody(c.Request, &body)
	if err == nil {
		body, err = body.check()
	}
	key := c.GetHeader("Idempotency-Key")
	if err == nil && key != "" && !wire.IsID(key) {
		err = wire.Invalid("", "Idempotency-Key must be 1 to 128 letters, digits or ._:-")
	}
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	h, ok := s.handoverOf(c)
	if !ok {
		return
	}
	did := deskAnswer{Object: "desk.message", HandoverID: h.ID, ConversationID: h.ConversationID}
	if err = s.recordFirst(c.Request, "", h.ID+" "+body.what()); err == nil && body.Text != "" {
		var m schemas.DeskMessage
		m, err = s.Handovers.Write(c.Request.Context(), h, body.Text, key)
		did.Message = &m
	}
	if err == nil && body.Close {
		err = s.Handovers.Close(c.Request.Context(), h, schemas.ClosedByDesk)
		did.Closed = true
	}
	switch {
	case errors.Is(err, schemas.ErrHandoverClosed):
		wire.WriteError(c.Writer, errHandoverClosed)
	case errors.Is(err, schemas.ErrOtherMessage):
		wire.WriteError(c.Writer, errOtherMessage)
	case errors.Is(err, agent.ErrBusy):
		wire.WriteError(c.Writer, wire.Failure(err))
	case err != nil:
		s.storeError(c, "handover", err)
	default:
		wire.WriteJSON(c.Writer, did)
	}
}

// what says in the audit what the desk did, and who there.
func (b deskBody) what() string {
	var did []string
	if b.Text != "" {
		did = append(did, "write")
	}
	if b.Close {
		did = append(did, "close")
	}
	if b.Author != "" {
		did = append(did, "by", b.Author)
	}
	return strings.Join(did, " ")
}

// handoverOperations describes the routes of the desk.
func (s *server) handoverOperations() []wire.Operation {
	if s.Handovers == nil {
		return nil
	}
	return []wire.Operation{
		{
			Method: "GET", Path: "/v1/handovers", Tag: tagConversations, Scope: "review", Summary: "List the people who asked for somebody at the desk, the newest first", Answer: handoverList{},
			Query: []wire.Parameter{
				{"state", "open (default), all, or some of sending, delivered, failed, answered, closed with commas between"},
				{"limit", "1 to 200; default 50"},
				{"after", "the cursor next of the previous page"},
			},
			Errors: []int{400, 503},
		},
		{
			Method: "GET", Path: "/v1/conversations/{id}/messages", Tag: tagConversations, Scope: "review", Summary: "Read a conversation that was handed over to the desk, and how to reach its person", Answer: deskThread{},
			Query: []wire.Parameter{{"after", "the seq of a message: those that follow it, without how to reach the person"}}, Errors: []int{400, 404, 503},
		},
		{
			Method: "POST", Path: "/v1/conversations/{id}/messages", Tag: tagConversations, Scope: "review", Summary: "Write to a person who asked for the desk, close the hand-over, or both; no model answers the person until it is closed",
			Request: deskBody{}, Answer: deskAnswer{}, Query: []wire.Parameter{{"Idempotency-Key", "the same key and text write one message"}}, Errors: []int{400, 404, 409, 422, 503},
		},
	}
}

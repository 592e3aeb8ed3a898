package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/web/responses"
	"molar/web/wire"
)

const (
	defaultPage = 50
	maxPage     = 200
	// maxTitle and maxQuery are in characters.
	maxTitle = 200
	maxQuery = 200
)

type conversationPage struct {
	list[schemas.Conversation]
	HasMore bool `json:"has_more"`
	// Next is the cursor to pass as after.
	Next string `json:"next,omitempty"`
}

func (s *server) listConversations(c *gin.Context) {
	limit := defaultPage
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			wire.WriteError(c.Writer, wire.Invalid("limit", "limit must be a number from 1 to %d", maxPage))
			return
		}
		limit = n
	}
	q, after := c.Query("q"), c.Query("after")
	switch {
	case !utf8.ValidString(q) || utf8.RuneCountInString(q) > maxQuery:
		wire.WriteError(c.Writer, wire.Invalid("q", "q must be at most %d characters of UTF-8", maxQuery))
		return
	case after != "" && !isCursor(after):
		wire.WriteError(c.Writer, wire.Invalid("after", "after must be the cursor that an earlier answer gave as next; leave it out for the first page"))
		return
	}
	conversations, next, err := s.Conversations.List(c.Request.Context(), s.Owner(c.Request), q, limit, after)
	if err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	wire.WriteJSON(c.Writer, conversationPage{list: listOf(conversations), HasMore: next != "", Next: next})
}

// isCursor reports whether s has the form of a memory server's cursor: two numbers.
func isCursor(s string) bool {
	at, id, ok := strings.Cut(s, "-")
	return ok && isNumber(at) && isNumber(id)
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

type conversationObject struct {
	responses.ConversationHead
	// Assistant is the assistant of the last answer among Messages; empty if unknown.
	Assistant string `json:"assistant,omitempty"`
	// Summary is the summary of the newest branch; empty if another branch is requested.
	Summary  string          `json:"summary"`
	Messages []messageObject `json:"messages"`
}

// A messageObject is a stored message. With ?html=true it includes the HTML of an answer and of the
// commentary before its calls.
type messageObject struct {
	schemas.StoredMessage
	Commentary []commentaryObject `json:"commentary,omitempty"`
	// Decisions are those of approvers about calls of the answer, as long as its trace is kept.
	Decisions []decisionObject `json:"decisions,omitempty"`
	HTML      string           `json:"html,omitempty"`
	// Files are the files attached to a question.
	Files []Object `json:"files,omitempty"`
}

// A commentaryObject is the commentary before a call.
type commentaryObject struct {
	// Call is the id of the first call that followed.
	Call string `json:"call"`
	Text string `json:"text"`
	HTML string `json:"html,omitempty"`
}

// A decisionObject is what an approver decided about a call.
type decisionObject struct {
	// Call is its id.
	Call      string `json:"call"`
	Tool      string `json:"tool"`
	DecidedBy string `json:"decided_by"`
	Refused   bool   `json:"refused,omitempty"`
}

// decisionsOf returns what approvers decided about the calls of a stored turn. Its trace is read only if
// one of its tools needs approvers.
func (s *server) decisionsOf(ctx context.Context, owner string, m schemas.StoredMessage) (all []decisionObject) {
	needsApprovers := func(call schemas.ToolCall) bool {
		return slices.ContainsFunc(s.Tools.Tools(), func(t schemas.Tool) bool { return t.Name == call.Function.Name && len(t.Rules.Approvers) > 0 })
	}
	if !slices.ContainsFunc(m.Rounds(), func(r schemas.Round) bool { return slices.ContainsFunc(r.Said.Calls(), needsApprovers) }) {
		return nil
	}
	body, ok, err := s.Traces.Trace(ctx, owner, m.TurnID)
	var trace answer.Trace
	if err == nil && ok {
		err = json.Unmarshal(body, &trace)
	}
	if err != nil { // the answer is shown without them
		s.Logger.Warn("read who decided about the calls of an answer", "turn_id", m.TurnID, "error", err)
	}
	for _, tool := range trace.Tools {
		for _, call := range tool.Calls {
			if call.DecidedBy != "" {
				all = append(all, decisionObject{call.ID, tool.Name, call.DecidedBy, call.Refused()})
			}
		}
	}
	return all
}

// commentaryOf returns the commentary before calls from the rounds of a stored turn.
func commentaryOf(m schemas.StoredMessage) []commentaryObject {
	var all []commentaryObject
	for _, round := range m.Rounds() {
		text, calls := strings.TrimSpace(round.Said.Said()), round.Said.Calls()
		if text != "" && len(calls) > 0 {
			all = append(all, commentaryObject{Call: calls[0].ID, Text: text})
		}
	}
	return all
}

// possibleID answers a request whose conversation id is not valid with 404. A memory server accepts
// at most 256 bytes of UTF-8 without control characters.
func possibleID(c *gin.Context) {
	const maxID = 256
	if id := c.Param("id"); len(id) > maxID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		c.Abort()
		wire.WriteError(c.Writer, wire.NotFound("conversation"))
	}
}

func (s *server) getConversation(c *gin.Context) {
	ctx, owner, id := c.Request.Context(), s.Owner(c.Request), c.Param("id")
	tip, tree := c.Query("tip"), c.Query("tree") == "true" || c.Query("lines") == "true"
	if tip != "" && (tree || !wire.IsID(tip)) {
		wire.WriteError(c.Writer, wire.Invalid("tip", "tip must be the id of a turn, and stand without tree and lines"))
		return
	}
	var messages []schemas.StoredMessage
	var summary string
	var err error
	what := "conversation"
	switch {
	case tree:
		messages, err = s.Conversations.Tree(ctx, owner, id)
	case tip != "":
		what = "turn"
		messages, err = s.Conversations.Branch(ctx, owner, id, tip)
	}
	if err == nil && len(messages) == 0 { // no branch is requested, or the conversation is empty
		messages, summary, _, err = s.Conversations.Messages(ctx, owner, id)
	}
	if err != nil && (what == "turn" || !errors.Is(err, agent.ErrNotFound)) {
		s.storeError(c, what, err)
		return
	}
	files, err := of(ctx, s.Files, owner, id)
	if err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	head, err := s.responses.Conversation(ctx, owner, id) // a new conversation may have no turn yet
	switch {
	case err != nil:
		s.storeError(c, "conversation", err)
		return
	case head == nil:
		wire.WriteError(c.Writer, wire.NotFound("conversation"))
		return
	}
	o := conversationObject{ConversationHead: *head, Summary: summary, Messages: []messageObject{}} // never nil: clients iterate over it
	for _, m := range messages {
		if m.Assistant != "" {
			o.Assistant = m.Assistant
		}
	}
	object := func(m schemas.StoredMessage) messageObject {
		o := s.messageObject(m, c.Query("html") == "true")
		o.Files, o.Decisions = files[m.Seq], s.decisionsOf(ctx, owner, m)
		return o
	}
	if c.Query("lines") == "true" {
		s.writeLines(c, o, messages, object)
		return
	}
	for _, m := range messages {
		o.Messages = append(o.Messages, object(m))
	}
	wire.WriteJSON(c.Writer, o)
}

// writeLines answers with a line of JSON for the conversation and one for each message, newest
// first, so that a client can show the newest messages while the rest loads.
func (s *server) writeLines(c *gin.Context, o conversationObject, messages []schemas.StoredMessage, object func(schemas.StoredMessage) messageObject) {
	c.Header("Content-Type", "application/x-ndjson")
	c.Status(http.StatusOK)
	write, limits := json.NewEncoder(c.Writer), http.NewResponseController(c.Writer)
	err := write.Encode(o)
	for _, m := range slices.Backward(messages) {
		if err != nil {
			return // the client has disconnected
		}
		_ = limits.SetWriteDeadline(time.Now().Add(wire.WriteLimit)) // a writer without deadlines has none
		err = write.Encode(object(m))
	}
}

func (s *server) messageObject(m schemas.StoredMessage, html bool) messageObject {
	o := messageObject{StoredMessage: m}
	if m.Role != schemas.RoleAssistant {
		return o
	}
	o.Commentary = commentaryOf(m)
	if !html {
		return o
	}
	render := func(text string) string {
		html, err := s.markdown().Of(text)
		if err != nil { // the page then shows plain text
			s.Logger.Warn("show an answer as HTML", "turn_id", m.TurnID, "error", err)
		}
		return html
	}
	o.HTML = render(m.Content)
	for i := range o.Commentary {
		o.Commentary[i].HTML = render(o.Commentary[i].Text)
	}
	return o
}

func (s *server) renameConversation(c *gin.Context) {
	var body struct {
		Title string `json:"title"`
	}
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	title := strings.Join(strings.Fields(body.Title), " ")
	if title == "" || utf8.RuneCountInString(title) > maxTitle {
		wire.WriteError(c.Writer, wire.Invalid("title", "title must be a text of 1 to %d characters", maxTitle))
		return
	}
	id := c.Param("id")
	if err := s.Conversations.Rename(c.Request.Context(), s.Owner(c.Request), id, title); err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	wire.WriteJSON(c.Writer, map[string]string{"id": id, "object": "conversation", "title": title})
}

func (s *server) clearConversation(c *gin.Context) {
	owner, id := s.Owner(c.Request), c.Param("id")
	if err := s.Conversations.Clear(c.Request.Context(), owner, id); err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	s.responses.Forget(owner, id)
	s.record(c.Request, schemas.AuditLine{Event: schemas.EventErase, Detail: "cleared the conversation " + id})
	wire.WriteJSON(c.Writer, map[string]any{"id": id, "object": "conversation", "cleared": true})
}

func (s *server) deleteConversation(c *gin.Context) {
	ctx, owner, id := c.Request.Context(), s.Owner(c.Request), c.Param("id")
	known, err := s.responses.DeleteConversation(ctx, owner, id)
	if err == nil {
		err = s.Conversations.Delete(ctx, owner, id)
	}
	if err != nil && (!known || !errors.Is(err, agent.ErrNotFound)) {
		s.storeError(c, "conversation", err)
		return
	}
	s.record(c.Request, schemas.AuditLine{Event: schemas.EventErase, Detail: "deleted the conversation " + id})
	wire.WriteJSON(c.Writer, map[string]any{"id": id, "object": "conversation.deleted", "deleted": true})
}

// storeError answers with the error of a store. what is the kind of the requested thing.
func (s *server) storeError(c *gin.Context, what string, err error) {
	if errors.Is(err, agent.ErrNotFound) {
		wire.WriteError(c.Writer, wire.NotFound(what))
		return
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		wire.WriteError(c.Writer, e)
		return
	}
	s.Logger.Error("read or change "+what, "error", err, "request_id", wire.RequestID(c.Writer))
	wire.WriteError(c.Writer, wire.ErrStore)
}

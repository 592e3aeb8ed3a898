package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/schemas"
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
			writeError(c.Writer, invalid("limit", "limit must be a number from 1 to %d", maxPage))
			return
		}
		limit = n
	}
	q, after := c.Query("q"), c.Query("after")
	switch {
	case !utf8.ValidString(q) || utf8.RuneCountInString(q) > maxQuery:
		writeError(c.Writer, invalid("q", "q must be at most %d characters of UTF-8", maxQuery))
		return
	case after != "" && !isCursor(after):
		writeError(c.Writer, invalid("after", "after must be the cursor that an earlier answer gave as next; leave it out for the first page"))
		return
	}
	found, next, err := s.Conversations.List(c.Request.Context(), s.Owner(c.Request), q, limit, after)
	if err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	writeJSON(c.Writer, conversationPage{list: listOf(found), HasMore: next != "", Next: next})
}

// isCursor tells the cursors of a memory server, two numbers, from what never was one.
func isCursor(s string) bool {
	at, id, both := strings.Cut(s, "-")
	return both && isNumber(at) && isNumber(id)
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

type conversationObject struct {
	ID       string          `json:"id"`
	Object   string          `json:"object"`
	Summary  string          `json:"summary"`
	Messages []messageObject `json:"messages"`
}

// A messageObject is a stored message, and with ?html=true an answer's HTML.
type messageObject struct {
	schemas.StoredMessage
	HTML string `json:"html,omitempty"`
}

// possibleID answers a request for a conversation whose id none can have: a memory
// server takes 256 bytes of UTF-8 without control characters.
func possibleID(c *gin.Context) {
	const maxID = 256
	if id := c.Param("id"); len(id) > maxID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		c.Abort()
		writeError(c.Writer, notFound("conversation"))
	}
}

func (s *server) getConversation(c *gin.Context) {
	id := c.Param("id")
	messages, summary, known, err := s.Conversations.Messages(c.Request.Context(), s.Owner(c.Request), id)
	if err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	if !known {
		writeError(c.Writer, notFound("conversation"))
		return
	}
	shown := make([]messageObject, len(messages)) // never nil: clients range over it
	for i, m := range messages {
		shown[i].StoredMessage = m
		if m.Role == schemas.RoleAssistant && c.Query("html") == "true" {
			shown[i].HTML, err = s.markdown().html(m.Content)
			if err != nil { // the page then shows the text as it is
				s.Logger.Warn("show an answer as HTML", "turn_id", m.TurnID, "error", err)
			}
		}
	}
	writeJSON(c.Writer, conversationObject{ID: id, Object: "conversation", Summary: summary, Messages: shown})
}

func (s *server) renameConversation(c *gin.Context) {
	var body struct {
		Title string `json:"title"`
	}
	if err := readBody(c.Request, &body); err != nil {
		writeError(c.Writer, failureOf(err))
		return
	}
	title := strings.Join(strings.Fields(body.Title), " ")
	if title == "" || utf8.RuneCountInString(title) > maxTitle {
		writeError(c.Writer, invalid("title", "title must be a text of 1 to %d characters", maxTitle))
		return
	}
	id := c.Param("id")
	if err := s.Conversations.Rename(c.Request.Context(), s.Owner(c.Request), id, title); err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	writeJSON(c.Writer, map[string]string{"id": id, "object": "conversation", "title": title})
}

func (s *server) clearConversation(c *gin.Context) {
	id := c.Param("id")
	if err := s.Conversations.Clear(c.Request.Context(), s.Owner(c.Request), id); err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	writeJSON(c.Writer, map[string]any{"id": id, "object": "conversation", "cleared": true})
}

func (s *server) deleteConversation(c *gin.Context) {
	id := c.Param("id")
	if err := s.Conversations.Delete(c.Request.Context(), s.Owner(c.Request), id); err != nil {
		s.storeError(c, "conversation", err)
		return
	}
	writeJSON(c.Writer, map[string]any{"id": id, "object": "conversation.deleted", "deleted": true})
}

func notFound(what string) *apiError {
	return &apiError{
		status: http.StatusNotFound, kind: typeInvalid, code: what + "_not_found",
		param: "id", message: "there is no " + what + " of that id",
	}
}

// storeError answers a failure of a store; what names the thing that was asked for.
func (s *server) storeError(c *gin.Context, what string, err error) {
	if errors.Is(err, agent.ErrNotFound) {
		writeError(c.Writer, notFound(what))
		return
	}
	e := failureOf(err)
	if e.status >= http.StatusInternalServerError {
		s.Logger.Error("read or change "+what, "error", err, "request_id", requestID(c.Writer))
	}
	writeError(c.Writer, e)
}

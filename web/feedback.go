package web

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/chat"
	"molar/web/wire"
)

// A FeedbackStore stores people's marks of answers. An empty owner means the turns of all owners.
type FeedbackStore interface {
	// PutFeedback replaces the feedback on a turn, or deletes it if f has no mark. ok is false if
	// the owner has no such turn.
	PutFeedback(ctx context.Context, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error)
	// ListFeedback returns the feedback that matches the filter, newest first.
	ListFeedback(ctx context.Context, owner string, filter schemas.FeedbackFilter) ([]schemas.Feedback, error)
}

// noMark is the value of mark that removes a mark.
const noMark = "none"

// feedbackBody is the body of POST /v1/turns/{id}/feedback.
type feedbackBody struct {
	// Mark is "up", "down", or "none", which removes the mark and the note.
	Mark string `json:"mark"`
	// Note is the person's comment on the answer.
	Note string `json:"note,omitempty"`
}

type feedbackObject struct {
	Object string `json:"object"`
	schemas.Feedback
}

// giveFeedback answers POST /v1/turns/{id}/feedback: it marks an answer.
func (s *server) giveFeedback(c *gin.Context) {
	var body feedbackBody
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	note := strings.TrimSpace(body.Note)
	switch {
	case body.Mark != schemas.MarkUp && body.Mark != schemas.MarkDown && body.Mark != noMark:
		wire.WriteError(c.Writer, wire.Invalid("mark", "mark must be up, down or none"))
		return
	case utf8.RuneCountInString(note) > schemas.MaxNote:
		wire.WriteError(c.Writer, wire.Invalid("note", "note must have at most %d characters", schemas.MaxNote))
		return
	}
	feedback := schemas.Feedback{
		TurnID: strings.TrimPrefix(c.Param("id"), chat.IDPrefix), Owner: s.Owner(c.Request), Mark: strings.TrimSuffix(body.Mark, noMark), Note: note,
	}
	stored, ok, err := s.putMark(c.Request, feedback)
	switch {
	case err != nil:
		s.storeError(c, "feedback", err)
		return
	case !ok:
		wire.WriteError(c.Writer, wire.NotFound("turn"))
		return
	case stored.Mark == "":
		stored.Mark, stored.Note = noMark, ""
	}
	wire.WriteJSON(c.Writer, feedbackObject{"turn.feedback", stored})
}

// listFeedback lists marked answers, newest first; ?mark=, ?assistant=, ?conversation=, ?turn=,
// ?since= and ?limit= filter them.
func (s *server) listFeedback(c *gin.Context) {
	want := schemas.FeedbackFilter{
		Mark: c.Query("mark"), Assistant: c.Query("assistant"), ConversationID: c.Query("conversation"), TurnID: c.Query("turn"), Limit: defaultPage,
	}
	if want.Mark != "" && want.Mark != schemas.MarkUp && want.Mark != schemas.MarkDown {
		wire.WriteError(c.Writer, wire.Invalid("mark", "mark must be up or down"))
		return
	}
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			wire.WriteError(c.Writer, wire.Invalid("limit", "limit must be a number from 1 to 1000"))
			return
		}
		want.Limit = n
	}
	if text := c.Query("since"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			wire.WriteError(c.Writer, wire.Invalid("since", "since must be a time such as 2026-01-31T00:00:00Z"))
			return
		}
		want.Since = at
	}
	if s.reviews(c.Request) {
		s.listMarks(c, want)
		return
	}
	all, err := s.Feedback.ListFeedback(c.Request.Context(), s.Owner(c.Request), want)
	if err != nil {
		s.storeError(c, "feedback", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

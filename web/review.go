package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A ReviewStore lists turns, and the marks of those who review them.
type ReviewStore interface {
	// Turns returns the turns that match a filter, newest first, and the cursor of the next page. An
	// empty owner selects those of all people.
	Turns(ctx context.Context, want schemas.TurnFilter) (turns []schemas.ListedTurn, next string, err error)
	// Gaps returns the questions of all people that nobody could answer since a time, grouped by their
	// words.
	Gaps(ctx context.Context, since time.Time) ([]schemas.Gap, error)
	// Asked returns whose turn it is, with its conversation, assistant and whole question.
	Asked(ctx context.Context, turnID string) (t schemas.ListedTurn, ok bool, err error)
	// PutReview stores a reviewer's mark beside the person's own, or deletes it if f has no mark. ok is
	// false if there is no such turn.
	PutReview(ctx context.Context, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error)
	// PutMadeFile notes a file that was made of a turn, for an erasure of whoever asked.
	PutMadeFile(ctx context.Context, f schemas.MadeFile) error
	// Marks returns the marks of all people's turns by themselves and by reviewers, newest first.
	Marks(ctx context.Context, filter schemas.FeedbackFilter) ([]schemas.Feedback, error)
}

// A Review configures the review of turns. With a nil Store its routes do not exist.
type Review struct {
	Store ReviewStore
	// People shows who people are; else they have pseudonyms.
	People bool
	// Secret returns the key of the pseudonyms. It is required with a Store.
	Secret func(context.Context) ([]byte, error)
	// MakeTest makes a test of a turn. It fails with a [schemas.UntestableError] if that is impossible.
	// With nil, its route does not exist.
	MakeTest func(ctx context.Context, turnID string) (schemas.TurnTest, error)
	// Correct writes the right answer to a question. With nil, its route does not exist.
	Correct func(ctx context.Context, c schemas.Correction) (schemas.WrittenCorrection, error)
}

// routeReview adds the routes of the review of turns.
func (s *server) routeReview(e *gin.Engine) {
	if s.Review.Store == nil {
		return
	}
	reads, review := s.scope(httpguard.ScopeChat, httpguard.ScopeReview), s.scope(httpguard.ScopeReview)
	e.GET("/v1/turns", reads, s.listTurns)
	e.GET("/v1/turns/gaps", review, s.listGaps)
	if s.Review.MakeTest != nil {
		e.POST("/v1/turns/:id/test", review, s.testTurn)
	}
	if s.Review.Correct != nil {
		e.POST("/v1/turns/:id/correction", review, s.correctTurn)
	}
}

// reviews reports whether the client of a request may read everybody's turns. A client without a key on
// a port without keys owns them all.
func (s *server) reviews(r *http.Request) bool {
	who := httpguard.PrincipalOf(r.Context())
	return s.Review.Store != nil && who.Key != "" && who.May(httpguard.ScopeReview)
}

// isOthers reports whether a turn is of somebody else than the client of a request.
func (s *server) isOthers(r *http.Request, owner string) bool {
	own := s.Owner(r)
	return own != "" && own != owner
}

// readOwner returns the owner whose turns a request may read, "" for all, and records the reading of a
// turn of somebody else. A turn that does not exist is left to the caller.
func (s *server) readOwner(c *gin.Context, turnID string) (owner string, err error) {
	owner = s.Owner(c.Request)
	if !s.reviews(c.Request) {
		return owner, nil
	}
	t, ok, err := s.Review.Store.Asked(c.Request.Context(), turnID)
	if err != nil || !ok || !s.isOthers(c.Request, t.Owner) {
		return owner, err
	}
	s.record(c.Request, schemas.AuditLine{Event: schemas.EventReview, TurnID: turnID, Detail: "read"})
	return "", nil
}

// turnList is a page of turns.
type turnList struct {
	Object string               `json:"object"`
	Data   []schemas.ListedTurn `json:"data"`
	// Next is the cursor of the next page.
	Next string `json:"next,omitempty"`
}

// listTurns answers GET /v1/turns: those of everybody for a reviewer, else one's own.
func (s *server) listTurns(c *gin.Context) {
	want, refusal := readTurnFilter(c, s.Now())
	if refusal != nil {
		wire.WriteError(c.Writer, refusal)
		return
	}
	reviews := s.reviews(c.Request)
	if !reviews {
		want.Owner = s.Owner(c.Request)
	}
	turns, next, err := s.Review.Store.Turns(c.Request.Context(), want)
	if err == nil {
		err = s.name(c.Request.Context(), turns)
	}
	if bad := schemas.CursorError(""); errors.As(err, &bad) {
		wire.WriteError(c.Writer, wire.Invalid("after", "%s", bad.Error()))
		return
	}
	if err != nil {
		s.storeError(c, "turns", err)
		return
	}
	if reviews {
		s.record(c.Request, schemas.AuditLine{Event: schemas.EventReview, Detail: strings.TrimSpace("list " + filters(c))})
	}
	wire.WriteJSON(c.Writer, turnList{"list", listOf(turns).Data, next})
}

// filters returns the known filters of a request, for the audit.
func filters(c *gin.Context) string {
	query := c.Request.URL.Query()
	var all []string
	for _, name := range []string{"outcome", "assistant", "marked", "mark", "since", "conversation", "after", "limit"} {
		if query.Get(name) != "" {
			all = append(all, name+"="+query.Get(name))
		}
	}
	return strings.Join(all, " ")
}

// name replaces the owners of turns by what a reviewer may know of them.
func (s *server) name(ctx context.Context, turns []schemas.ListedTurn) error {
	var secret []byte
	if !s.Review.People && len(turns) > 0 {
		var err error
		if secret, err = s.Review.Secret(ctx); err != nil {
			return err
		}
	}
	for i := range turns {
		t := &turns[i]
		if t.Person = t.Owner; !s.Review.People {
			t.Person = pseudonym(secret, *t)
		}
	}
	return nil
}

// pseudonym returns a name for the person of a turn, which lasts for the conversation: the questions of
// one belong together, and what somebody asked in others cannot be found by it.
func pseudonym(secret []byte, t schemas.ListedTurn) string {
	about := "conversation " + t.ConversationID
	if t.ConversationID == "" {
		about = "turn " + t.ID
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t.Owner + "\x00" + about))
	return "person-" + hex.EncodeToString(mac.Sum(nil)[:3])
}

// listMarks answers GET /v1/feedback for a reviewer: the marks of everybody.
func (s *server) listMarks(c *gin.Context, want schemas.FeedbackFilter) {
	all, err := s.Review.Store.Marks(c.Request.Context(), want)
	if err != nil {
		s.storeError(c, "feedback", err)
		return
	}
	if slices.ContainsFunc(all, func(f schemas.Feedback) bool { return s.isOthers(c.Request, f.Owner) }) {
		s.record(c.Request, schemas.AuditLine{Event: schemas.EventReview, Detail: strings.TrimSpace("list marks " + filters(c))})
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

// putMark stores a mark: one's own of one's own turn, else a reviewer's.
func (s *server) putMark(c *gin.Context, f schemas.Feedback) (schemas.Feedback, bool, error) {
	if s.reviews(c.Request) {
		t, ok, err := s.Review.Store.Asked(c.Request.Context(), f.TurnID)
		if err != nil || !ok {
			return f, false, err
		}
		if s.isOthers(c.Request, t.Owner) {
			stored, ok, err := s.Review.Store.PutReview(c.Request.Context(), f)
			if err == nil && ok {
				s.record(c.Request, schemas.AuditLine{Event: schemas.EventReview, TurnID: f.TurnID, Detail: "mark " + f.Mark})
			}
			return stored, ok, err
		}
	}
	return s.Feedback.PutFeedback(c.Request.Context(), f)
}

package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A ReviewStore lists turns, and the marks of those who review them.
type ReviewStore interface {
	// Turns returns the turns that match a filter, newest first, and the cursor of the next page. An
	// empty owner selects those of all people.
	Turns(ctx context.Context, want schemas.TurnFilter) (turns []schemas.ListedTurn, next string, err error)
	// Asked returns whose turn it is, with its conversation, assistant and whole question.
	Asked(ctx context.Context, turnID string) (t schemas.ListedTurn, ok bool, err error)
	// PutReview stores a reviewer's mark beside the person's own, or deletes it if f has no mark. ok is
	// false if there is no such turn.
	PutReview(ctx context.Context, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error)
	// PutMadeFile notes a file that was made of a turn, for an erasure of whoever asked.
	PutMadeFile(ctx context.Context, f schemas.MadeFile) error
	// MadeOf returns the files that reviewers made of some turns, the oldest first.
	MadeOf(ctx context.Context, turnIDs []string) ([]schemas.MadeFile, error)
	// Marks returns the marks of all people's turns by themselves and by reviewers, newest first.
	Marks(ctx context.Context, filter schemas.FeedbackFilter) ([]schemas.Feedback, error)
}

// A Review configures the review of turns. With a nil Store its routes do not exist. With one, all else is
// required unless it says otherwise, and the Audit of the [Config]: nothing is read that is not recorded.
type Review struct {
	Store ReviewStore
	// People shows who people are; else they have pseudonyms.
	People bool
	// Secret returns the key of the pseudonyms.
	Secret func(context.Context) ([]byte, error)
	// Names returns what the owner of turns is called, "" if that is not known, and all that gives them away
	// where it stands in a text.
	Names func(ctx context.Context, owner string) (name string, texts []string, err error)
	// Group groups the questions of turns since a time by their words. It is given older ones too, newest
	// first, since their corrections count.
	Group func(turns []schemas.ListedTurn, since time.Time) []schemas.Gap
	// MakeTest makes a test of a turn. It fails with a [schemas.UntestableError] if that is impossible.
	// With nil, its route does not exist.
	MakeTest func(ctx context.Context, turnID string) (schemas.TurnTest, error)
	// RunTest asks the questions of a turn's test again, of the assistant as it is now. As says who asks. It
	// fails with the error of their budget if that is used up. With nil, its route does not exist.
	RunTest func(ctx context.Context, turnID string, as agent.Turn) (schemas.TestRun, error)
	// Correct writes the right answer to a question. With nil, its route does not exist.
	Correct func(ctx context.Context, c schemas.Correction) (schemas.WrittenCorrection, error)
	// Written returns the answer that stands in the file of a correction, "" if somebody has removed it.
	Written func(file string) string
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
	if s.Review.RunTest != nil {
		e.POST("/v1/turns/:id/test/run", review, s.limitTurns, s.runTest)
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

// assistantsOf returns the assistants whose turns the client of a request may review: those that its groups
// allow. Nil means all.
func (s *server) assistantsOf(r *http.Request) []string {
	if httpguard.PrincipalOf(r.Context()).Rights.AllAssistants() {
		return nil
	}
	names := []string{}
	for _, m := range s.modelsFor(r) {
		names = append(names, m.Name)
	}
	return names
}

// underReview returns a turn that the client of a request may review. ok is false if there is none, or if
// its assistant is not one that the client's groups allow.
func (s *server) underReview(r *http.Request, turnID string) (t schemas.ListedTurn, ok bool, err error) {
	t, ok, err = s.Review.Store.Asked(r.Context(), turnID)
	return t, ok && httpguard.PrincipalOf(r.Context()).Rights.Assistant(t.Assistant), err
}

// ofAnother returns the turn of somebody else that a reviewer asks for. ok is false for all other turns and
// clients.
func (s *server) ofAnother(r *http.Request, turnID string) (t schemas.ListedTurn, ok bool, err error) {
	if !s.reviews(r) {
		return t, false, nil
	}
	t, ok, err = s.underReview(r, turnID)
	return t, ok && err == nil && s.isOthers(r, t.Owner), err
}

// errUnrecorded is the error of a review that cannot be recorded.
var errUnrecorded = &wire.Error{
	Status: http.StatusServiceUnavailable, Kind: wire.TypeServer, Code: "audit_unavailable", RetryAfter: time.Second,
	Message: "nothing is shown or changed, since it cannot be recorded that you read it; try again in a moment, or tell the operator",
}

// recordFirst records what a reviewer is about to read or change. If it fails, nothing may be shown or
// happen.
func (s *server) recordFirst(r *http.Request, turnID, detail string) error {
	line := schemas.AuditLine{Event: schemas.EventReview, Person: s.Owner(r), TurnID: turnID, Detail: strings.TrimSpace(detail)}
	if err := s.Audit.Audit(r.Context(), line); err != nil {
		s.Logger.Error("a review was refused, since the audit could not be written", "turn", turnID, "error", err)
		return errUnrecorded
	}
	return nil
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
	if reviews {
		want.Assistants = s.assistantsOf(c.Request)
	} else {
		want.Owner = s.Owner(c.Request)
	}
	turns, next, err := s.Review.Store.Turns(c.Request.Context(), want)
	if err == nil {
		err = s.name(c.Request, turns)
	}
	if err == nil && reviews {
		err = s.recordFirst(c.Request, "", "list "+filters(c))
	}
	if err == nil {
		err = s.addMade(c.Request, turns)
	}
	if bad := schemas.CursorError(""); errors.As(err, &bad) {
		wire.WriteError(c.Writer, wire.Invalid("after", "%s", bad.Error()))
		return
	}
	if err != nil {
		s.storeError(c, "turns", err)
		return
	}
	wire.WriteJSON(c.Writer, turnList{"list", listOf(turns).Data, next})
}

// filters returns the known filters of a request, for the audit.
func filters(c *gin.Context) string {
	query := c.Request.URL.Query()
	var all []string
	for _, name := range []string{"outcome", "assistant", "marked", "mark", "since", "conversation", "turn", "after", "limit"} {
		if query.Get(name) != "" {
			all = append(all, name+"="+query.Get(name))
		}
	}
	return strings.Join(all, " ")
}

// listMarks answers GET /v1/feedback for a reviewer: the marks of everybody.
func (s *server) listMarks(c *gin.Context, want schemas.FeedbackFilter) {
	want.Assistants = s.assistantsOf(c.Request)
	all, err := s.Review.Store.Marks(c.Request.Context(), want)
	if err == nil && slices.ContainsFunc(all, func(f schemas.Feedback) bool { return s.isOthers(c.Request, f.Owner) }) {
		if err = s.recordFirst(c.Request, "", "list marks "+filters(c)); err == nil {
			err = s.nameMarks(c.Request, all)
		}
	}
	if err != nil {
		s.storeError(c, "feedback", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

// putMark stores a mark: one's own of one's own turn, else a reviewer's.
func (s *server) putMark(r *http.Request, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error) {
	t, isOthers, err := s.ofAnother(r, f.TurnID)
	if err != nil {
		return f, false, err
	}
	if !isOthers {
		return s.Feedback.PutFeedback(r.Context(), f)
	}
	if err := s.recordFirst(r, f.TurnID, "mark "+f.Mark); err != nil {
		return f, false, err
	}
	stored, ok, err = s.Review.Store.PutReview(r.Context(), f)
	if err != nil || !ok {
		return stored, ok, err
	}
	marks := []schemas.Feedback{stored}
	marks[0].Owner = t.Owner
	err = s.nameMarks(r, marks)
	return marks[0], true, err
}

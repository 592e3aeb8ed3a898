package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/providers"
	"molar/schemas"
	"molar/web/chat"
	"molar/web/wire"
)

// The largest parts of a correction, in characters.
const (
	maxCorrected  = 500
	maxCorrection = 8000
	maxSources    = 10
)

// testObject is a test that was made of a turn: files are paths, or, where no folder takes tests, the
// files themselves.
type testObject struct {
	Case  string `json:"case"`
	Files []any  `json:"files"`
	// Command asks the question again, of the assistant as it is now.
	Command string `json:"command"`
}

// A testFile is a file to be downloaded.
type testFile struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// reviewed returns the turn that a request names, for a step of somebody who reviews, once that is recorded;
// ok is false after it has answered.
func (s *server) reviewed(c *gin.Context, step string) (t schemas.ListedTurn, ok bool) {
	t, ok, err := s.underReview(c.Request, strings.TrimPrefix(c.Param("id"), chat.IDPrefix))
	if err == nil && ok {
		err = s.recordFirst(c.Request, t.ID, step)
	}
	switch {
	case err != nil:
		s.storeError(c, "turn", err)
	case !ok:
		wire.WriteError(c.Writer, wire.NotFound("turn"))
	}
	return t, ok && err == nil
}

// testTurn answers POST /v1/turns/{id}/test: it makes a test of a turn.
func (s *server) testTurn(c *gin.Context) {
	t, ok := s.reviewed(c, "test")
	if !ok {
		return
	}
	made, err := s.Review.MakeTest(c.Request.Context(), t.ID)
	if err != nil {
		s.testError(c, err)
		return
	}
	for _, f := range made.Files {
		path := f.Path
		if f.Content != "" { // it is downloaded
			path = ""
		}
		if !s.made(c, schemas.MadeFile{TurnID: t.ID, Kind: schemas.MadeTest, Path: path}) {
			return
		}
	}
	answer := testObject{Case: made.Case, Files: []any{}, Command: made.Command}
	for _, f := range made.Files {
		if f.Content == "" {
			answer.Files = append(answer.Files, f.Path)
		} else {
			answer.Files = append(answer.Files, testFile{f.Path, f.Content})
		}
	}
	wire.WriteJSON(c.Writer, answer)
}

// testError answers with why no test was made of a turn, or run.
func (s *server) testError(c *gin.Context, err error) {
	if providers.KindOf(err) == providers.KindBudget {
		err = wire.Failure(err)
	} else if not, ok := errors.AsType[schemas.UntestableError](err); ok {
		err = &wire.Error{Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: "turn_not_testable", NoRetry: true, Message: not.Error()}
	}
	s.storeError(c, "turn", err)
}

// runTest answers POST /v1/turns/{id}/test/run: it asks the questions of a turn's test again. They are asked by
// the reviewer, with what the reviewer may use, and nobody is asked for an approval.
func (s *server) runTest(c *gin.Context) {
	t, ok := s.reviewed(c, "run test")
	if !ok {
		return
	}
	who := httpguard.PrincipalOf(c.Request.Context())
	as := agent.Turn{Place: agent.Place{Owner: s.Owner(c.Request), Stateless: true}, Rights: who.Rights, AskNever: true}
	run, err := s.Review.RunTest(c.Request.Context(), t.ID, as)
	if err != nil {
		s.testError(c, err)
		return
	}
	wire.WriteJSON(c.Writer, run)
}

// correctTurn answers POST /v1/turns/{id}/correction: it writes the right answer to a turn's question.
func (s *server) correctTurn(c *gin.Context) {
	var body schemas.Correction
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	t, ok := s.reviewed(c, "correction")
	if !ok {
		return
	}
	body.Question, body.Answer = strings.Join(strings.Fields(body.Question), " "), strings.TrimSpace(body.Answer)
	if body.Question == "" && t.Question != nil {
		about := []schemas.ListedTurn{t}
		if err := s.name(c.Request, about); err != nil {
			s.storeError(c, "turn", err)
			return
		}
		body.Question = strings.Join(strings.Fields(*about[0].Question), " ")
	}
	if refusal := checkCorrection(body); refusal != nil {
		wire.WriteError(c.Writer, refusal)
		return
	}
	body.Assistant, body.TurnID = t.Assistant, t.ID
	written, err := s.Review.Correct(c.Request.Context(), body)
	if err != nil {
		s.Logger.Error("a correction could not be written", "turn", t.ID, "error", err)
		wire.WriteError(c.Writer, &wire.Error{Status: http.StatusInternalServerError, Kind: wire.TypeServer, Code: "correction_not_written", Message: "the answer could not be written into the folder; the log of the host says why"})
		return
	}
	if !s.made(c, schemas.MadeFile{TurnID: t.ID, Kind: schemas.MadeCorrection, Path: written.File}) {
		return
	}
	wire.WriteJSON(c.Writer, written)
}

// made notes a file that keeps a person's words. It answers with a failure, after which the step can be
// repeated, and returns false.
func (s *server) made(c *gin.Context, f schemas.MadeFile) bool {
	err := s.Review.Store.PutMadeFile(c.Request.Context(), f)
	if err != nil {
		s.storeError(c, "turn", err)
	}
	return err == nil
}

func checkCorrection(c schemas.Correction) *wire.Error {
	long := func(text string, most int) bool { return utf8.RuneCountInString(text) > most }
	switch {
	case c.Question == "":
		return wire.Invalid("question", "question is required: the text of this turn's question is not kept")
	case long(c.Question, maxCorrected):
		return wire.Invalid("question", "question must have at most %d characters", maxCorrected)
	case c.Answer == "":
		return wire.Invalid("answer", "answer is required")
	case long(c.Answer, maxCorrection):
		return wire.Invalid("answer", "answer must have at most %d characters", maxCorrection)
	case len(c.Sources) > maxSources || slices.ContainsFunc(c.Sources, func(source string) bool { return long(source, maxCorrected) }):
		return wire.Invalid("sources", "sources must be at most %d texts of at most %d characters", maxSources, maxCorrected)
	}
	return nil
}

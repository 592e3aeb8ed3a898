package public

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/schemas"
	"molar/web/turns"
	"molar/web/wire"
)

// storeWait is how long a question waits for its limits to be counted.
const storeWait = 5 * time.Second

type chatRequest struct {
	Text string `json:"text"`
	// Consent is the hash of the notice that the visitor agrees to with this question.
	Consent string `json:"consent"`
	// Lang is the language of the frame: vi or en.
	Lang string `json:"lang"`
}

// chat answers POST /embed/chat: it begins a turn and follows it.
func (s *Surface) chat(c *gin.Context, v visitor) {
	defer s.streams.leave(s.client(c))
	t, lang, ok := s.ask(c, v, s.enter(c))
	if !ok {
		return
	}
	s.follow(c, t, 0, lang)
}

// ask begins a turn, or answers with what prevents it, such as full. It is a function of its own, as the stack of
// chat lasts as long as the answer.
func (s *Surface) ask(c *gin.Context, v visitor, full *failure) (t *turns.Live, lang string, ok bool) {
	var body chatRequest
	if !s.read(c, &body) {
		return nil, "", false
	}
	lang = languageOf(c.Request, body.Lang)
	text := strings.TrimSpace(body.Text)
	agreed := body.Consent == s.consent || v.consent == s.consent
	var refused *failure
	switch {
	case full != nil:
		refused = full
	case text == "":
		refused = &failure{Status: http.StatusBadRequest, Code: "empty"}
	case utf8.RuneCountInString(text) > MaxText:
		refused = &failure{Status: http.StatusRequestEntityTooLarge, Code: "too_long"}
	case s.Consent && !agreed:
		refused = &failure{Status: http.StatusForbidden, Code: "consent_required"}
	default:
		t, refused = s.begin(c.Request, v, text)
	}
	if refused != nil {
		s.warn(refused, text)
		s.failIn(c, refused, lang)
		return nil, lang, false
	}
	if v.cookie { // it is kept as long as the conversation, and knows what was agreed to
		value := v.token
		if agreed {
			value += "." + s.consent
		}
		s.keep(c, value)
	}
	return t, lang, true
}

// warn adds what to do in an emergency to the refusal of a question that describes one: whoever is in
// danger must not be left with a text about limits.
func (s *Surface) warn(f *failure, text string) {
	notice, urgent := s.Emergency(s.Assistant, text)
	if !urgent {
		return
	}
	f.Notice = notice
	if html, err := s.HTML().Of(notice); err == nil {
		f.HTML = html
	}
}

// begin counts a question and begins its turn.
func (s *Surface) begin(r *http.Request, v visitor, text string) (*turns.Live, *failure) {
	if _, taken := s.asking.LoadOrStore(v.owner, true); taken || s.Turns.Set.Runs(v.owner) {
		if !taken {
			s.asking.Delete(v.owner)
		}
		return nil, &failure{Status: http.StatusConflict, Code: "busy"}
	}
	defer s.asking.Delete(v.owner)
	if refused := s.count(r, v, text); refused != nil {
		return nil, refused
	}
	t, err := s.Turns.Begin(r.Context(), turns.Request{
		Turn: agent.Turn{
			ID: schemas.NewID(), Assistant: s.Assistant, Place: agent.Place{ConversationID: v.conversation(), Owner: v.owner},
			Messages: []schemas.Message{schemas.Text(schemas.RoleUser, text)}, SystemFrom: schemas.FromClient,
			Visitor: true, AskNever: true, Rights: s.Rights(),
		},
		Detach: true, Shared: true,
	})
	if err != nil {
		s.Logger.Warn("a visitor's turn did not begin", "owner", v.owner, "error", err)
		return nil, failureOf(err, s.Now())
	}
	return t, nil
}

// count counts a question under its limits. One that describes an emergency counts under that of its
// address alone, and passes if it cannot be counted.
func (s *Surface) count(r *http.Request, v visitor, text string) *failure {
	_, urgent := s.Emergency(s.Assistant, text)
	limits := []schemas.CountedLimit{{Name: s.addressName(r), Rate: s.Limits.Address}}
	if !urgent {
		limits = append(limits, schemas.CountedLimit{Name: v.owner, Rate: s.Limits.Visitor}, schemas.CountedLimit{Name: "all", Rate: s.Limits.All})
	}
	refusal, err := s.counted(r.Context(), limits)
	switch {
	case err != nil && urgent:
		s.Logger.Error("an emergency could not be counted, and passes", "error", err)
		return nil
	case err != nil:
		s.Logger.Error("count a visitor's question", "error", err)
		return &failure{Status: http.StatusServiceUnavailable, Code: "unavailable"}
	case refusal == nil:
		return nil
	}
	return s.limited(refusal)
}

func (s *Surface) counted(ctx context.Context, limits []schemas.CountedLimit) (*schemas.LimitRefusal, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return s.Count(ctx, limits)
}

// rarely counts what is rarely done, and costs the store or the desk more than a question, and reports whether
// it may be done; else it has answered.
func (s *Surface) rarely(c *gin.Context, v visitor, what string, perVisitor, perAddress int, lang string) bool {
	refusal, err := s.counted(c.Request.Context(), []schemas.CountedLimit{
		{Name: what + ":" + v.owner, Rate: schemas.Rate{Count: perVisitor, Per: time.Hour}},
		{Name: what + ":" + s.addressName(c.Request), Rate: schemas.Rate{Count: perAddress, Per: time.Hour}},
	})
	switch {
	case err != nil:
		s.storeFailed(c, "count what a visitor does", err)
	case refusal != nil:
		until := refusal.Until.UTC()
		s.failIn(c, &failure{Status: http.StatusTooManyRequests, Code: "too_many_requests", Until: &until}, lang)
	}
	return err == nil && refusal == nil
}

// limited returns the failure of what a limit refuses.
func (s *Surface) limited(refusal *schemas.LimitRefusal) *failure {
	kind, _, _ := strings.Cut(refusal.Limit.Name, ":")
	s.Refused(kind)
	until := refusal.Until.UTC()
	return &failure{Status: http.StatusTooManyRequests, Code: "too_many_questions", Limit: kind, Until: &until}
}

// turn returns the visitor's turn of the id in the address, or answers that there is none.
func (s *Surface) turn(c *gin.Context, v visitor) (*turns.Live, bool) {
	id := c.Param("id")
	if !wire.IsID(id) {
		s.fail(c, &failure{Status: http.StatusNotFound, Code: "not_found"})
		return nil, false
	}
	t, ok, err := s.Turns.Find(c.Request.Context(), v.owner, id)
	switch {
	case err != nil:
		s.fail(c, failureOf(err, s.Now()))
	case !ok || !t.MayBeFollowed():
		ok = false
		s.fail(c, &failure{Status: http.StatusNotFound, Code: "not_found"})
	}
	return t, ok && err == nil
}

// stop answers DELETE /embed/turns/{id}.
func (s *Surface) stop(c *gin.Context, v visitor) {
	t, ok := s.turn(c, v)
	if !ok {
		return
	}
	if !t.IsOver() {
		t.Stop()
	}
	c.Status(http.StatusNoContent)
}

type markRequest struct {
	// Mark is "good", "poor", or "" to remove it; Note is the visitor's comment.
	Mark string `json:"mark"`
	Note string `json:"note"`
}

// feedback answers POST /embed/turns/{id}/feedback.
func (s *Surface) feedback(c *gin.Context, v visitor) {
	var body markRequest
	if !s.read(c, &body) {
		return
	}
	mark, known := map[string]string{"good": schemas.MarkUp, "poor": schemas.MarkDown, "": ""}[body.Mark]
	note := strings.TrimSpace(body.Note)
	switch id := c.Param("id"); {
	case !known || utf8.RuneCountInString(note) > schemas.MaxNote:
		s.fail(c, &failure{Status: http.StatusBadRequest, Code: "invalid"})
	case s.Marks == nil || !wire.IsID(id):
		s.fail(c, &failure{Status: http.StatusNotFound, Code: "not_found"})
	default:
		_, ok, err := s.Marks.PutFeedback(c.Request.Context(), schemas.Feedback{TurnID: id, Owner: v.owner, Mark: mark, Note: note})
		switch {
		case err != nil:
			s.storeFailed(c, "mark a visitor's answer", err)
		case !ok:
			s.fail(c, &failure{Status: http.StatusNotFound, Code: "not_found"})
		default:
			c.Status(http.StatusNoContent)
		}
	}
}

// storeFailed answers for a store that failed.
func (s *Surface) storeFailed(c *gin.Context, what string, err error) {
	s.Logger.Error(what, "error", err, "request_id", wire.RequestID(c.Writer))
	s.fail(c, &failure{Status: http.StatusServiceUnavailable, Code: "unavailable"})
}

package public

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// Hand-overs are limited too, since each is told to the desk.
const (
	visitorHandovers = 3
	addressHandovers = 20
)

// A handoverObject is what a visitor knows of the desk.
type handoverObject struct {
	// On is set if somebody can be reached, Open if somebody is at the desk now; else Next is when.
	On   bool       `json:"on"`
	Open bool       `json:"open"`
	Next *time.Time `json:"next,omitempty"`
	// Ask are the fields of the form.
	Ask []string `json:"ask"`
	// State is that of the request, empty without one; Callback is set if the desk is to call back.
	State    schemas.HandoverState `json:"state"`
	Callback bool                  `json:"callback"`
	// Text is what is true now; Fallback is what to do if nobody was reached.
	Text     string `json:"text"`
	Fallback string `json:"fallback,omitempty"`
}

// deskOf returns what a visitor knows of the desk; nil if nobody can be reached.
func (s *Surface) deskOf(ctx context.Context, v visitor, lang string) (*handoverObject, error) {
	if s.Desk.Handovers == nil {
		return nil, nil //nolint:nilnil // there is no desk
	}
	h, open, err := s.Desk.Handovers.Open(ctx, v.owner, v.conversation())
	if err != nil {
		return nil, err
	}
	if !open {
		h = schemas.Handover{}
	}
	return s.seen(h, lang), nil
}

// seen returns what a visitor knows of a hand-over, which may be none.
func (s *Surface) seen(h schemas.Handover, lang string) *handoverObject {
	now := s.Now()
	desk := &handoverObject{On: true, Open: true, Ask: s.Desk.Ask, State: h.State, Callback: h.Callback}
	if s.Desk.Hours != nil {
		if desk.Open = s.Desk.Hours.Open(now); !desk.Open {
			if next := s.Desk.Hours.Next(now); !next.IsZero() {
				desk.Next = &next
			}
		}
	}
	desk.Text = told(h, desk, lang)
	if h.State == schemas.HandoverFailed || h.State == "" {
		desk.Fallback = inLanguage(s.Desk.Fallback, lang)
	}
	return desk
}

// told says how far a request came, and never more than that.
func told(h schemas.Handover, desk *handoverObject, lang string) string {
	switch h.State {
	case schemas.HandoverSending:
		return words{"Đang gửi yêu cầu đến nhân viên. Chưa có ai nhận được.", "Your request is being sent to the staff. Nobody has it yet."}.in(lang)
	case schemas.HandoverDelivered:
		if h.Callback || !desk.Open {
			return words{"Yêu cầu của bạn đã đến hộp thư của nhân viên. ", "Your request is in the inbox of the staff. "}.in(lang) + opens(desk, lang)
		}
		return words{"Yêu cầu của bạn đã đến hộp thư của nhân viên; chưa có ai trả lời.", "Your request is in the inbox of the staff; nobody has answered yet."}.in(lang)
	case schemas.HandoverFailed:
		return words{"Không chuyển được tin của bạn đến nhân viên: chưa có ai thấy tin đó. Trợ lý lại trả lời bạn.", "Your message could not be delivered to the staff: nobody has seen it. The assistant answers you again."}.in(lang)
	case schemas.HandoverAnswered:
		return words{"Nhân viên đang trả lời bạn tại đây.", "The staff answer you here."}.in(lang)
	}
	if !desk.Open {
		return opens(desk, lang)
	}
	return ""
}

// opens says when somebody is at the desk.
func opens(desk *handoverObject, lang string) string {
	if desk.Open {
		return words{"Nhân viên có mặt lúc này.", "The staff are there now."}.in(lang)
	}
	if desk.Next == nil {
		return words{"Lúc này không có nhân viên.", "The staff are not there now."}.in(lang)
	}
	days := []words{{"Chủ nhật", "Sunday"}, {"thứ Hai", "Monday"}, {"thứ Ba", "Tuesday"}, {"thứ Tư", "Wednesday"}, {"thứ Năm", "Thursday"}, {"thứ Sáu", "Friday"}, {"thứ Bảy", "Saturday"}}
	at := *desk.Next // in the zone of the desk
	day := days[at.Weekday()].in(lang)
	if lang == "vi" {
		return "Nhân viên có mặt lại lúc " + at.Format("15:04") + " " + day + ", ngày " + at.Format("2/1") + "."
	}
	return "The staff are back on " + day + ", " + at.Format("2 January") + ", at " + at.Format("15:04") + "."
}

type handoverRequest struct {
	// Consent is set if the visitor agrees that the conversation and the contact go to the desk.
	Consent bool                   `json:"consent"`
	Reason  schemas.HandoverReason `json:"reason"`
	Contact map[string]string      `json:"contact"`
	Lang    string                 `json:"lang"`
}

// handover answers POST /embed/handover: a visitor asks for somebody at the desk.
func (s *Surface) handover(c *gin.Context, v visitor) {
	var body handoverRequest
	if !s.read(c, &body) {
		return
	}
	lang := languageOf(c.Request, body.Lang)
	if s.Desk.Handovers == nil {
		s.failIn(c, &failure{Status: http.StatusNotFound, Code: "not_found"}, lang)
		return
	}
	h, refused := s.request(c.Request, v, body, lang)
	if refused != nil {
		s.failIn(c, refused, lang)
		return
	}
	wire.WriteJSON(c.Writer, s.seen(h, lang))
}

// request sends a request to the desk, or returns why not.
func (s *Surface) request(r *http.Request, v visitor, body handoverRequest, lang string) (h schemas.Handover, refused *failure) {
	contact, ok := s.contactOf(body.Contact)
	callback := s.Desk.Hours != nil && !s.Desk.Hours.Open(s.Now())
	switch {
	case !body.Consent:
		return h, &failure{Status: http.StatusForbidden, Code: "desk_consent"}
	case !slices.Contains([]schemas.HandoverReason{schemas.HandoverButton, schemas.HandoverWords, schemas.HandoverNotFound}, body.Reason):
		return h, &failure{Status: http.StatusBadRequest, Code: "invalid"}
	case !ok:
		return h, &failure{Status: http.StatusBadRequest, Code: "contact_invalid"}
	case callback && contact["phone"] == "" && contact["email"] == "":
		return h, &failure{Status: http.StatusBadRequest, Code: "contact_required"}
	}
	address, err := s.addressName(r)
	var refusal *schemas.LimitRefusal
	if err == nil {
		refusal, err = s.counted(r.Context(), []schemas.CountedLimit{
			{Name: "handover:" + v.owner, Rate: schemas.Rate{Count: visitorHandovers, Per: time.Hour}},
			{Name: "handover:" + address, Rate: schemas.Rate{Count: addressHandovers, Per: time.Hour}},
		})
	}
	if refusal != nil {
		return h, s.limited(refusal)
	}
	if err == nil {
		h, err = s.Desk.Handovers.Request(context.WithoutCancel(r.Context()), schemas.Handover{
			Owner: v.owner, ConversationID: v.conversation(), Assistant: s.Assistant, Language: lang, Reason: body.Reason, Contact: contact, Callback: callback,
		})
	}
	if err != nil {
		s.Logger.Error("hand a visitor over to the desk", "owner", v.owner, "error", err)
		return h, &failure{Status: http.StatusServiceUnavailable, Code: "desk_unavailable"}
	}
	return h, nil
}

// contactOf returns the fields of the form that are filled in; ok is false for one that it does not ask for,
// or that is no line of text.
func (s *Surface) contactOf(form map[string]string) (contact map[string]string, ok bool) {
	contact = map[string]string{}
	for field, text := range form {
		text = strings.TrimSpace(text)
		if !slices.Contains(s.Desk.Ask, field) || utf8.RuneCountInString(text) > maxContact || strings.ContainsFunc(text, unicode.IsControl) || !fits(field, text) {
			return nil, false
		}
		if text != "" {
			contact[field] = text
		}
	}
	return contact, true
}

// fits reports whether a text may be what its field asks for; an empty one fits.
func fits(field, text string) bool {
	switch {
	case text == "":
		return true
	case field == "phone":
		return strings.ContainsFunc(text, unicode.IsDigit)
	case field == "email":
		before, after, _ := strings.Cut(text, "@")
		return before != "" && after != ""
	}
	return true
}

// withdraw answers DELETE /embed/handover: the visitor goes on with the assistant.
func (s *Surface) withdraw(c *gin.Context, v visitor) {
	if err := s.withdrawOpen(context.WithoutCancel(c.Request.Context()), v); err != nil {
		s.storeFailed(c, "close a visitor's hand-over", err)
		return
	}
	c.Status(http.StatusNoContent)
}

func (s *Surface) withdrawOpen(ctx context.Context, v visitor) error {
	if s.Desk.Handovers == nil {
		return nil
	}
	h, open, err := s.Desk.Handovers.Open(ctx, v.owner, v.conversation())
	if err != nil || !open {
		return err
	}
	return s.Desk.Handovers.Withdraw(ctx, h)
}

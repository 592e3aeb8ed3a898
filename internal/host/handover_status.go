package host

import (
	"context"
	"slices"
	"strings"
	"time"

	"molar/schemas"
)

// Status returns what a person of a language is told about reaching somebody. It never says more than is
// known: that the inbox has a request says nothing about whether anybody read it.
func (h *Handovers) Status(ctx context.Context, owner, conversation, language string) (schemas.HandoverStatus, error) {
	now := h.Now()
	s := schemas.HandoverStatus{On: true, Open: h.Hours.Open(now), Ask: slices.Clone(h.Ask), Fallback: h.Fallback(language)}
	if !s.Open {
		s.Next = h.Hours.Next(now)
	}
	of, open, err := h.Store.OpenHandover(ctx, owner, conversation)
	if err != nil {
		return s, err
	}
	if open {
		s.State, s.Callback = of.State, of.Callback
	}
	s.Text = statusText(of, s, language)
	return s, nil
}

// statusText says how far a hand-over came, and when the desk opens.
func statusText(of schemas.Handover, s schemas.HandoverStatus, language string) string {
	t := func(english, vietnamese string) string {
		if language == "vi" {
			return vietnamese
		}
		return english
	}
	back := ""
	switch {
	case !s.Open && s.Next.IsZero():
		back = t("The staff are not there now.", "Lúc này không có nhân viên.")
	case !s.Open:
		back = t("The staff are back on "+s.Next.Format("Monday, 2 January, at 15:04")+".", "Nhân viên có mặt lại lúc "+vietnameseTime(s.Next)+".")
	}
	said := ""
	switch s.State {
	case schemas.HandoverSending:
		said = t("Your request is being sent to the staff. Nobody has it yet.", "Đang gửi yêu cầu đến nhân viên. Chưa có ai nhận được.")
	case schemas.HandoverDelivered:
		said = t("Your request is in the inbox of the staff; nobody has answered yet.", "Yêu cầu của bạn đã đến hộp thư của nhân viên; chưa có ai trả lời.")
		if of.Callback && len(of.Contact) > 0 {
			said = t("Your request and how to reach you are in the inbox of the staff; nobody has answered yet.", "Yêu cầu và cách liên lạc với bạn đã đến hộp thư của nhân viên; chưa có ai trả lời.")
		}
	case schemas.HandoverFailed:
		return t("Your message could not be delivered to the staff: nobody has seen it. The assistant answers you again.",
			"Không chuyển được tin của bạn đến nhân viên: chưa có ai thấy tin đó. Trợ lý lại trả lời bạn.")
	case schemas.HandoverAnswered:
		said = t("The staff answer you here.", "Nhân viên trả lời bạn tại đây.")
	}
	return strings.TrimSpace(said + " " + back)
}

// vietnameseTime returns a time as Vietnamese write it.
func vietnameseTime(at time.Time) string {
	day := [...]string{"Chủ nhật", "thứ Hai", "thứ Ba", "thứ Tư", "thứ Năm", "thứ Sáu", "thứ Bảy"}[at.Weekday()]
	return at.Format("15:04 ") + day + at.Format(", ngày 2/1")
}

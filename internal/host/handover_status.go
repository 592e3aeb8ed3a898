package host

import (
	"context"
	"fmt"
	"slices"
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
	of, ok, err := h.Store.LastHandover(ctx, conversation)
	if err != nil || !ok || of.Owner != owner {
		return s, err
	}
	s.State, s.Callback = of.State, of.Callback
	s.Text = statusText(of, s, language)
	return s, nil
}

// statusText says how far a hand-over came.
func statusText(of schemas.Handover, s schemas.HandoverStatus, language string) string {
	t := func(english, vietnamese string) string {
		if language == "vi" {
			return vietnamese
		}
		return english
	}
	back := ""
	if !s.Open && !s.Next.IsZero() {
		back = t(fmt.Sprintf(" Our staff are back on %s.", s.Next.Format("Monday 2 January, 15:04")), " Nhân viên có mặt lại lúc "+vietnameseTime(s.Next)+".")
	}
	switch of.State {
	case schemas.HandoverSending:
		return t("Your request is being sent to our staff.", "Đang gửi yêu cầu của bạn đến nhân viên.") + back
	case schemas.HandoverDelivered:
		if of.Callback {
			received := t("Our staff's inbox has your request", "Yêu cầu của bạn đã vào hộp thư của nhân viên")
			if len(of.Contact) > 0 {
				received = t("Our staff's inbox has your request and how to reach you", "Yêu cầu và thông tin liên lạc của bạn đã vào hộp thư của nhân viên")
			}
			return received + t("; nobody has read it yet as far as we know.", "; chưa rõ đã có ai đọc chưa.") + back +
				t(" Meanwhile the assistant goes on answering.", " Trong lúc chờ, trợ lý vẫn trả lời bạn.")
		}
		return t("Your request is in our staff's inbox. Nobody has answered yet.", "Yêu cầu của bạn đã vào hộp thư của nhân viên. Chưa có ai trả lời.") + back
	case schemas.HandoverFailed:
		return t("Your message could not be delivered: nobody on our staff has seen it. The assistant answers again.",
			"Không chuyển được lời nhắn của bạn: chưa nhân viên nào đọc được. Trợ lý lại trả lời bạn.")
	case schemas.HandoverAnswered:
		return t("Our staff have answered. What you write goes to them, and the assistant stays silent.",
			"Nhân viên đã trả lời. Điều bạn viết được chuyển cho họ, và trợ lý không trả lời thay.")
	case schemas.HandoverClosed:
		return t("The conversation with our staff has ended. The assistant answers again.", "Cuộc trò chuyện với nhân viên đã kết thúc. Trợ lý lại trả lời bạn.")
	}
	return ""
}

// vietnameseTime returns a time as Vietnamese write it.
func vietnameseTime(at time.Time) string {
	day := [...]string{"Chủ nhật", "thứ Hai", "thứ Ba", "thứ Tư", "thứ Năm", "thứ Sáu", "thứ Bảy"}[at.Weekday()]
	return at.Format("15:04 ") + day + at.Format(", 2/1")
}

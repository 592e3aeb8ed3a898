package prompts

import (
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/schemas"
)

// OfferPerson returns the answer to somebody who asks for a person: that there is a form for that, or,
// if none is offered, that they have asked before. It never says that anybody was reached.
func OfferPerson(lang string, offered bool) string {
	switch {
	case lang == subject.Vietnamese && offered:
		return "Bạn có thể gặp nhân viên qua mẫu bên dưới. Mẫu cho biết khi nào có người trực; chưa ai được báo cho đến khi bạn gửi mẫu."
	case lang == subject.Vietnamese:
		return "Bạn đã xin gặp nhân viên rồi. Dòng trạng thái ở đây cho biết yêu cầu của bạn đã đến đâu."
	case offered:
		return "You can ask for a person with the form below. It says when somebody is there; nobody is told until you send it."
	}
	return "You have asked for a person already. The line about it here says how far your request has come."
}

// IsAboutDesk reports whether an answer is one of [OfferPerson] or [NotPassedOn].
func IsAboutDesk(answer string) bool {
	return slices.ContainsFunc(languages[:], func(lang string) bool {
		return answer == OfferPerson(lang, true) || answer == OfferPerson(lang, false) || strings.HasSuffix(answer, NotPassedOn(lang))
	})
}

// NotPassedOn returns what somebody is told whose message could not be passed on to the desk.
func NotPassedOn(lang string) string {
	if lang == subject.Vietnamese {
		return "Tin nhắn này chưa chuyển được đến nhân viên, nên chưa ai đọc. Hãy gửi lại sau ít phút."
	}
	return "This message could not be passed on to the desk, so nobody there has seen it. Please send it again in a few minutes."
}

// DeskSummary returns the summary of what people at the desk wrote: the beginning of that, in their words.
func DeskSummary(lang, text string) string {
	if lang == subject.Vietnamese {
		return "Nhân viên viết: " + text
	}
	return "The desk wrote: " + text
}

// FromDesk returns what people at the desk wrote into the conversation, as text beside a question. It
// does not stand in the role of the assistant, which would learn to speak for them.
func FromDesk(lang string, texts []string) schemas.Part {
	heading := "People of this place wrote to the person after this, themselves; the assistant did not:"
	if lang == subject.Vietnamese {
		heading = "Sau đó nhân viên ở đây đã tự viết cho người này; đây không phải lời của trợ lý:"
	}
	return beside(heading + "\n" + fence("desk", strings.Join(texts, "\n\n")))
}

package subject

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Voice holds a topic's texts in one language. Other languages use the topic's first one.
type Voice struct {
	// Description states in a sentence what belongs to the topic. The judge reads it.
	Description string
	// Not states what seems to belong to the topic and does not. The judge reads it too.
	Not string
	// System is the system prompt of an assistant without its own. "{language}" in the English one
	// is replaced by the language to answer in.
	System string
	// Refusal offers what the assistant can help with instead; Unavailable reports that the check
	// cannot be made now.
	Refusal, Unavailable string
	Labels               Labels
	// FirstQuestions are example questions that a page offers.
	FirstQuestions []string
	// CrisisLine stands in a notice in place of the number of a crisis line that is not set.
	CrisisLine string
	// Notices are the first steps in an emergency, by kind. "{number}" in them is replaced by the
	// emergency number, and "{crisis}" by the crisis line.
	Notices map[string]string
	// Call says where to call in an emergency, with "{number}"; if empty, general words do.
	Call string
}

// Labels are the words around the parts of a prompt.
type Labels struct {
	// Person and Assistant are their roles: "Gardener", "Adviser".
	Person, Assistant string
	// Summary, Earlier, Question and Search are the headings of the conversation's summary, the
	// latest exchanges, the question, and the search results.
	Summary, Earlier, Question, Search string
	// Prepared is the heading of a question that a server wrote and the person chose, Notice that
	// of an emergency notice that the person has seen.
	Prepared, Notice string
}

// Voice returns the topic's texts in a language, else in its first one. General texts fill the
// gaps.
func (t Topic) Voice(lang string) Voice {
	asked := lang
	lang = t.spoken(lang)
	v := t.Voices[lang]
	v.System = strings.ReplaceAll(v.System, "{language}", AnswerIn(asked))
	general := plainVoice(lang)
	v.Refusal = cmp.Or(v.Refusal, fmt.Sprintf(general.Refusal, v.Description))
	v.Unavailable = cmp.Or(v.Unavailable, general.Unavailable)
	v.Labels = v.Labels.or(general.Labels)
	return v
}

// spoken returns the language of the texts for a language: itself, or the fallback.
func (t Topic) spoken(lang string) string {
	if _, ok := t.Voices[lang]; ok {
		return lang
	}
	return t.fallback()
}

// fallback returns the language whose texts all languages without texts use.
func (t Topic) fallback() string {
	if len(t.Languages) > 0 {
		return t.Languages[0]
	}
	for _, lang := range slices.Sorted(maps.Keys(t.Voices)) {
		return lang
	}
	return ""
}

// AnswerIn returns the answer's language, as an English prompt names it.
func AnswerIn(lang string) string {
	switch lang {
	case Vietnamese:
		return "Vietnamese"
	case Other:
		return "the language of the question"
	}
	return "English"
}

// FirstQuestions returns the example questions by language: those of the topic, and those of the
// pages, which have the texts of the topic's first language if the topic does not have theirs.
func (t Topic) FirstQuestions() map[string][]string {
	all := map[string][]string{}
	for _, lang := range append([]string{Vietnamese, English}, slices.Sorted(maps.Keys(t.Voices))...) {
		if questions := t.Voices[t.spoken(lang)].FirstQuestions; len(questions) > 0 {
			all[lang] = questions
		}
	}
	return all
}

func (l Labels) or(other Labels) Labels {
	return Labels{
		Person: cmp.Or(l.Person, other.Person), Assistant: cmp.Or(l.Assistant, other.Assistant),
		Summary: cmp.Or(l.Summary, other.Summary), Earlier: cmp.Or(l.Earlier, other.Earlier),
		Question: cmp.Or(l.Question, other.Question), Search: cmp.Or(l.Search, other.Search),
		Prepared: cmp.Or(l.Prepared, other.Prepared), Notice: cmp.Or(l.Notice, other.Notice),
	}
}

// Plain returns the labels of a prompt without a topic.
func Plain(lang string) Labels { return plainVoice(lang).Labels }

// plainVoice returns the texts that fit every topic.
func plainVoice(lang string) Voice {
	if lang == "vi" {
		return Voice{
			Refusal:     "Xin lỗi, mình chỉ có thể giúp về chủ đề này: %s Bạn hãy đặt một câu hỏi thuộc chủ đề này nhé.",
			Unavailable: "Hiện tại mình chưa kiểm tra được câu hỏi của bạn. Bạn vui lòng thử lại sau ít phút nhé.",
			Labels: Labels{
				Person: "Người hỏi", Assistant: "Trợ lý",
				Summary: "Tóm tắt cuộc trò chuyện trước:", Earlier: "Các lượt trao đổi gần đây:", Question: "Câu hỏi hiện tại:", Search: "Thông tin tìm kiếm:",
				Prepared: "Người hỏi đã chọn câu hỏi soạn sẵn dưới đây của một máy chủ; hãy trả lời điều nó hỏi, trong phạm vi chủ đề:",
				Notice:   "Người hỏi đã được xem thông báo khẩn cấp sau; đừng lặp lại, hãy trả lời tiếp phần còn lại:",
			},
		}
	}
	return Voice{
		Refusal:     "Sorry, I can only help with this subject: %s Please ask me something about it.",
		Unavailable: "I cannot check your question right now. Please try again in a moment.",
		Labels: Labels{
			Person: "Person", Assistant: "Assistant",
			Summary: "Summary of the previous conversation:", Earlier: "Recent exchanges:", Question: "Current question:", Search: "Search results:",
			Prepared: "The person chose the prepared question of a server below; answer what it asks, as far as it belongs to the subject:",
			Notice:   "The person has been shown this emergency notice already; do not repeat it, answer what is left:",
		},
	}
}

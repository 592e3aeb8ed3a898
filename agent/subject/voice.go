package subject

import (
	"cmp"
	"fmt"
	"strings"
)

// A Voice is what a topic says in one language. The English one speaks for all languages that have
// none.
type Voice struct {
	// Description says in a sentence what belongs to the topic. The judge reads it.
	Description string
	// System are the instructions for the model of an assistant that has none of its own. "{language}"
	// in the English ones stands for the language to answer in.
	System string
	// Refusal says what the assistant can help with instead, Unavailable that the check
	// cannot be made now.
	Refusal, Unavailable string
	Labels               Labels
	// FirstQuestions are questions to begin with, as a page offers them.
	FirstQuestions []string
	// Notices say what to do first in an emergency, by its kind.
	Notices map[string]string
}

// Labels are the words around the parts of a prompt.
type Labels struct {
	// Person and Assistant are what the two are to each other: "Gardener", "Adviser".
	Person, Assistant string
	// Summary, Earlier, Question and Search stand above the summary of what was said, the
	// latest exchanges, the question, and what was found for it.
	Summary, Earlier, Question, Search string
	// Prepared stands above a question that a server wrote and the person chose, Notice
	// above an emergency notice that the person has seen.
	Prepared, Notice string
}

// Voice returns what the topic says in a language, else in English, else in any. What it
// does not say itself is said in general words.
func (t Topic) Voice(lang string) Voice {
	asked := lang
	v, ok := t.Voices[lang]
	for _, other := range []string{"en", "vi"} {
		if !ok {
			v, ok = t.Voices[other]
			lang = other
		}
	}
	v.System = strings.ReplaceAll(v.System, "{language}", AnswerIn(asked))
	general := topicPlain(lang)
	v.Refusal = cmp.Or(v.Refusal, fmt.Sprintf(general.Refusal, v.Description))
	v.Unavailable = cmp.Or(v.Unavailable, general.Unavailable)
	v.Labels = v.Labels.or(general.Labels)
	return v
}

// AnswerIn names the language of an answer to a model that is spoken to in English.
func AnswerIn(lang string) string {
	switch lang {
	case Vietnamese:
		return "Vietnamese"
	case Other:
		return "the language of the question"
	}
	return "English"
}

// FirstQuestions are questions to begin with, by language.
func (t Topic) FirstQuestions() map[string][]string {
	all := map[string][]string{}
	for lang, voice := range t.Voices {
		if len(voice.FirstQuestions) > 0 {
			all[lang] = voice.FirstQuestions
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
func Plain(lang string) Labels { return topicPlain(lang).Labels }

// topicPlain is what every topic can say.
func topicPlain(lang string) Voice {
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

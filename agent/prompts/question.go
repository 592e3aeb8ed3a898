package prompts

import (
	"encoding/json"
	"strings"

	"molar/schemas"
)

// words are the fixed phrases around the parts of a question. The summary's heading
// and the speakers' labels are part of the surface.
type words struct {
	summary, earlier, question, search, nothing string
	topicUser, topicAssistant                   string
	format                                      string
	sources                                     string
	notice                                      string
	withheld                                    string
	prepared, missing, unusable, ambiguous      string
}

func wordsOf(lang string) words {
	if lang == "vi" {
		return words{
			summary:        "Tóm tắt cuộc trò chuyện trước:",
			earlier:        "Các lượt trao đổi gần đây:",
			question:       "Câu hỏi hiện tại của bệnh nhân:",
			search:         "Thông tin tìm kiếm:",
			nothing:        "Không tìm thấy thông tin nào cho câu hỏi này; hãy nói rõ điều đó.",
			topicUser:      "Bệnh nhân",
			topicAssistant: "Nha sĩ",
			format:         "Trả lời bằng tiếng Việt, thành các đoạn ngắn, có dòng trống giữa các đoạn.",
			sources:        "Nguồn tham khảo:",
			notice:         "Người bệnh đã được xem thông báo cấp cứu sau; đừng lặp lại, hãy trả lời tiếp phần còn lại:",
			withheld:       "[phần này là hướng dẫn nội bộ nên không được hiển thị]",
			prepared:       "Bệnh nhân đã chọn câu hỏi soạn sẵn dưới đây của một máy chủ; hãy trả lời điều nó hỏi, trong phạm vi chủ đề:",
			missing:        "Lệnh `%s` còn thiếu: %s. Cách dùng: `%s`",
			unusable:       "Không dùng được lệnh `%s`: máy chủ %s không trả về nội dung. Hãy kiểm tra các tham số rồi thử lại. Cách dùng: `%s`",
			ambiguous:      "Có nhiều máy chủ có lệnh `%s`. Hãy chọn một: %s",
		}
	}
	return words{
		summary:        "Summary of the previous conversation:",
		earlier:        "Recent exchanges:",
		question:       "Current question of the patient:",
		search:         "Search results:",
		nothing:        "Nothing was found for this question; say so.",
		topicUser:      "Patient",
		topicAssistant: "Dentist",
		format:         "Answer in English, in short paragraphs with a blank line between them.",
		sources:        "Sources:",
		notice:         "The person has been shown this emergency notice already; do not repeat it, answer what is left:",
		withheld:       "[internal instructions are not shown]",
		prepared:       "The patient chose the prepared question of a server below; answer what it asks, as far as it belongs to the subject:",
		missing:        "`%s` still needs: %s. Usage: `%s`",
		unusable:       "`%s` cannot be used: the server %s gave no text for it. Check the arguments and try again. Usage: `%s`",
		ambiguous:      "Several servers have `%s`. Choose one: %s",
	}
}

// SourcesHeading is the line above the list of sources.
func SourcesHeading(lang string) string { return wordsOf(lang).sources }

// Withheld stands in an answer where a part of the system prompt was left out.
func Withheld(lang string) string { return wordsOf(lang).withheld }

// A QuestionInput is what stands around a question.
type QuestionInput struct {
	Language string
	Nonce    string
	// Topic puts earlier messages into the question as labelled lines. Without it
	// they are messages of their own, see History.
	Topic bool
	// Notice is the emergency notice that the person has seen already, or empty.
	Notice   string
	Summary  string
	Earlier  []schemas.StoredMessage
	Question schemas.Message
	// Searched says that the code-driven tools ran; Search is what they found.
	Searched bool
	Search   []schemas.ToolResult
	// MaxBytes bounds each result, see Result.
	MaxBytes int
}

// Messages writes the messages of a pass up to and with the question: the earlier
// messages, and one user message that holds the summary, the question and the search
// results. The question's own parts stay apart from what code puts beside them.
func Messages(in QuestionInput) []schemas.Message {
	var messages []schemas.Message
	if !in.Topic {
		messages = history(in)
	}
	w := wordsOf(in.Language)
	var parts []schemas.Part
	if in.Summary != "" {
		parts = append(parts, context(w.summary+"\n"+in.Summary))
	}
	if in.Topic {
		if lines := labelled(in.Earlier, w); lines != "" {
			parts = append(parts, context(w.earlier+"\n"+lines))
		}
		parts = append(parts, context(w.question))
	}
	parts = append(parts, in.Question.Parts...)
	if in.Notice != "" {
		parts = append(parts, context(w.notice+"\n"+in.Notice))
	}
	if in.Searched {
		parts = append(parts, searchParts(in, w)...)
	}
	return append(messages, schemas.Message{Role: schemas.RoleUser, Parts: parts})
}

func searchParts(in QuestionInput, w words) []schemas.Part {
	if len(in.Search) == 0 {
		return []schemas.Part{context(w.search + "\n" + w.nothing), context(w.format)}
	}
	var parts []schemas.Part
	for _, r := range in.Search {
		parts = append(parts, schemas.Part{
			Kind:   schemas.PartContext,
			Text:   w.search + "\n" + Result(in.Nonce, r, in.MaxBytes),
			Result: &r,
		})
	}
	return append(parts, context(w.format))
}

func context(text string) schemas.Part {
	return schemas.Part{Kind: schemas.PartContext, Text: text}
}

func labelled(earlier []schemas.StoredMessage, w words) string {
	var lines []string
	for _, m := range earlier {
		switch m.Role {
		case schemas.RoleUser:
			lines = append(lines, w.topicUser+": "+m.Content)
		case schemas.RoleAssistant:
			lines = append(lines, w.topicAssistant+": "+WithoutSources(m))
		}
	}
	return strings.Join(lines, "\n")
}

// history gives earlier messages as messages, with the calls of each turn and their
// results paired as they were. It starts with the user, as some providers demand.
func history(in QuestionInput) []schemas.Message {
	var messages []schemas.Message
	for _, m := range in.Earlier {
		switch {
		case m.Role == schemas.RoleUser:
			messages = append(messages, schemas.Text(m.Role, m.Content))
		case m.Role == schemas.RoleAssistant && len(messages) > 0:
			messages = append(messages, answered(in, m)...)
		}
	}
	return messages
}

// answered is a stored answer as the provider saw it: the rounds of calls, each with
// its results, then the text. A round that does not pair ends them.
func answered(in QuestionInput, m schemas.StoredMessage) []schemas.Message {
	text := schemas.Text(schemas.RoleAssistant, WithoutSources(m))
	var rounds []schemas.Round
	if len(m.Calls) == 0 || json.Unmarshal(m.Calls, &rounds) != nil {
		return []schemas.Message{text}
	}
	var messages []schemas.Message
	for _, round := range rounds {
		calls := len(round.Said.Calls())
		if calls == 0 && len(round.Results) == 0 {
			text = round.Said // it holds the provider's state
			break
		}
		if calls != len(round.Results) {
			break
		}
		messages = append(messages, round.Said, Results(in.Nonce, round.Results, in.MaxBytes))
	}
	return append(messages, text)
}

// WithoutSources is the content of a stored answer without its list of sources.
func WithoutSources(m schemas.StoredMessage) string {
	if len(m.Sources) == 0 {
		return m.Content
	}
	for _, lang := range languages {
		if i := strings.LastIndex(m.Content, "\n\n"+SourcesHeading(lang)+"\n\n"); i >= 0 {
			return m.Content[:i]
		}
	}
	return m.Content
}

package prompts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/agent/subject"
	"molar/internal/text"
	"molar/schemas"
)

// summaryOf bounds the question and the answer that are condensed, so that they fit the smallest
// window.
const summaryOf = 6000

// A SummaryInput is one exchange to be condensed, and its context.
type SummaryInput struct {
	Language string
	// Assistant is the author of the answer, whose endpoint writes the summary; empty if unknown.
	Assistant string
	// Owner owns the conversation, and the model call is charged to them.
	Owner string
	// SoFar is the summary of the earlier exchanges, which resolves pronouns.
	SoFar    string
	Question string
	// Results has the beginning of each tool result.
	Results string
	Answer  string
}

// Summary writes the request that condenses one exchange to a few sentences.
func Summary(in SummaryInput) (system string, messages []schemas.Message) {
	system = "Summarise the last exchange of a conversation in at most three sentences, in " + subject.AnswerIn(in.Language) + ". What came before is given only so that it can be understood. " +
		"Name people and things instead of pointing at them. Keep names, numbers, identifiers and what was agreed, and what a person said of their health. Write only the summary."
	before, results := "The conversation before:", "What tools returned:"
	if in.Language == subject.Vietnamese {
		system = "Hãy tóm tắt lượt trao đổi cuối của một cuộc trò chuyện trong tối đa ba câu, bằng tiếng Việt. Phần trước đó chỉ để hiểu đúng. " +
			"Hãy gọi tên người và vật thay vì dùng đại từ. Giữ lại tên, con số, mã số, những gì đã thống nhất và những gì người dùng nói về sức khỏe của mình. Chỉ viết phần tóm tắt."
		before, results = "Cuộc trò chuyện trước đó:", "Kết quả của các công cụ:"
	}
	var parts []schemas.Part
	if in.SoFar != "" {
		parts = append(parts, beside(before+"\n"+fence("summary", in.SoFar)))
	}
	parts = append(parts, schemas.Part{Kind: schemas.PartText, Text: text.Clip(in.Question, summaryOf, text.Mark)})
	if in.Results != "" {
		parts = append(parts, beside(results+"\n"+fence("tools", in.Results)))
	}
	return system, []schemas.Message{{Role: schemas.RoleUser, Parts: append(parts, quoted("answer", text.Clip(in.Answer, summaryOf, text.Mark)))}}
}

// Condense writes the request that shortens a long summary. It asks to keep the important facts;
// the caller checks that afterwards.
func Condense(lang, summary string) (system string, messages []schemas.Message) {
	its := subject.AnswerIn(lang)
	if lang == subject.Other { // there is no question to take it from
		its = "the language that it is written in"
	}
	system = "Shorten the summary of a conversation below to about a third, in " + its + ". " +
		"Keep every name, number, date, allergy and medicine word for word, and what was agreed; drop repetition and small talk. " +
		"Add nothing and use no list numbers. Write only the summary."
	if lang == subject.Vietnamese {
		system = "Hãy rút gọn phần tóm tắt cuộc trò chuyện dưới đây còn khoảng một phần ba, bằng tiếng Việt. " +
			"Giữ nguyên từng chữ mọi tên, con số, ngày tháng, dị ứng, thuốc và những gì đã thống nhất; bỏ phần lặp lại và lời xã giao. " +
			"Không thêm gì và không đánh số. Chỉ viết phần tóm tắt."
	}
	return system, []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{quoted("summary", summary)}}}
}

// quoted returns a text as fenced data, and as a result for a provider that quotes.
func quoted(name, text string) schemas.Part {
	return schemas.Part{
		Kind: schemas.PartContext, Text: fence(name, text),
		Result: &schemas.ToolResult{ToolName: name, Output: schemas.TextOutput(text)},
	}
}

// Title writes the request that names a conversation after its first exchange.
func Title(lang, question, answer string) (system string, messages []schemas.Message) {
	system = "Name the conversation below for a list of conversations, in " + subject.AnswerIn(lang) + ", in three to seven words. " +
		"Say what it is about, with names that matter. No quotation marks, no full stop. Write only the name."
	if lang == subject.Vietnamese {
		system = "Hãy đặt tên cho cuộc trò chuyện dưới đây để hiện trong một danh sách, bằng tiếng Việt, từ ba đến tám từ. " +
			"Nêu chủ đề và các tên riêng quan trọng. Không dùng dấu ngoặc kép, không có dấu chấm cuối. Chỉ viết cái tên."
	}
	parts := []schemas.Part{{Kind: schemas.PartText, Text: clip(question)}, quoted("answer", clip(answer))}
	return system, []schemas.Message{{Role: schemas.RoleUser, Parts: parts}}
}

// titleOf bounds the question and the answer that a title is made of, in bytes each; longestTitle
// bounds the title, in characters.
const titleOf, longestTitle = 2000, 80

func clip(s string) string { return text.Clip(s, titleOf, text.Mark) }

// QuestionTitle returns the title of a conversation without a better one: its first question.
func QuestionTitle(question string) string {
	return text.Truncate(strings.Join(strings.Fields(question), " "), longestTitle)
}

// ReadTitle returns the title in a model's text; empty if it has none.
func ReadTitle(written string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(written), "\n")
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }), " ")
	const marks = " \"'“”‘’«»`*_#."
	line = strings.Trim(line, marks)
	for _, label := range []string{"Title:", "Name:", "Tiêu đề:", "Tên:"} {
		line = strings.Trim(strings.TrimPrefix(line, label), marks)
	}
	if utf8.RuneCountInString(line) > longestTitle {
		return ""
	}
	return line
}

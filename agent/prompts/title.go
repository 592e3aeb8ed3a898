package prompts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// Title writes the request that names a conversation after its first exchange.
func Title(lang, question, answer string) (system string, messages []schemas.Message) {
	system = "Name the conversation below for a list of conversations, in English, in three to seven words. " +
		"Say what it is about, with names that matter. No quotation marks, no full stop. Write only the name."
	if lang == "vi" {
		system = "Hãy đặt tên cho cuộc trò chuyện dưới đây để hiện trong một danh sách, bằng tiếng Việt, từ ba đến tám từ. " +
			"Nêu chủ đề và các tên riêng quan trọng. Không dùng dấu ngoặc kép, không có dấu chấm cuối. Chỉ viết cái tên."
	}
	parts := []schemas.Part{{Kind: schemas.PartText, Text: clip(question)}, quoted("answer", clip(answer))}
	return system, []schemas.Message{{Role: schemas.RoleUser, Parts: parts}}
}

// titleOf is how many bytes of question and answer a name is made of, longestTitle how many
// characters it may have.
const titleOf, longestTitle = 2000, 80

func clip(s string) string { return text.Clip(s, titleOf, " […]") }

// ReadTitle is the name in what a model wrote; empty when that is not one.
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

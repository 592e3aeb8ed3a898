package prompts

import "molar/schemas"

// Summary writes the request that condenses one exchange to a few sentences.
func Summary(lang, nonce, question, answer string) (system string, messages []schemas.Message) {
	system = "Summarise the exchange below in at most three sentences, in English. Keep names, numbers, allergies, medication and what was agreed. Write only the summary."
	if lang == "vi" {
		system = "Hãy tóm tắt lượt trao đổi dưới đây trong tối đa ba câu, bằng tiếng Việt. Giữ lại tên, con số, dị ứng, thuốc và những gì đã thống nhất. Chỉ viết phần tóm tắt."
	}
	asked := schemas.Part{Kind: schemas.PartText, Text: question}
	answered := schemas.Part{
		Kind: schemas.PartContext,
		Text: Fence(nonce, "answer", answer),
		Result: &schemas.ToolResult{
			ToolName: "answer",
			Output:   jsonString(answer),
		},
	}
	return system, []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{asked, answered}}}
}

package prompts

import "molar/schemas"

// Condense writes the request that makes a long summary shorter. What must not be
// lost is checked by the caller afterwards; the request asks for it all the same.
func Condense(lang, nonce, summary string) (system string, messages []schemas.Message) {
	system = "Shorten the summary of a conversation below to about a third, in English. " +
		"Keep every name, number, date, allergy and medicine word for word, and what was agreed; drop repetition and small talk. " +
		"Add nothing and use no list numbers. Write only the summary."
	if lang == "vi" {
		system = "Hãy rút gọn phần tóm tắt cuộc trò chuyện dưới đây còn khoảng một phần ba, bằng tiếng Việt. " +
			"Giữ nguyên từng chữ mọi tên, con số, ngày tháng, dị ứng, thuốc và những gì đã thống nhất; bỏ phần lặp lại và lời xã giao. " +
			"Không thêm gì và không đánh số. Chỉ viết phần tóm tắt."
	}
	long := schemas.Part{
		Kind: schemas.PartContext,
		Text: Fence(nonce, "summary", summary),
		Result: &schemas.ToolResult{
			ToolName: "summary",
			Output:   jsonString(summary),
		},
	}
	return system, []schemas.Message{{Role: schemas.RoleUser, Parts: []schemas.Part{long}}}
}

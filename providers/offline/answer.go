package offline

import (
	"slices"
	"strings"

	"molar/internal/text"
	"molar/providers"
	"molar/schemas"
)

// closingEnglish, and closingVietnamese, return the sentence that no model wrote the answer.
func closingEnglish() string {
	return "(No model is configured: this is quoted from tools. " + providers.HowToGetOne("Set", "or", "run") + ", for real answers.)"
}

func closingVietnamese() string {
	return "(Chưa cấu hình mô hình nào: nội dung trên được trích từ công cụ. " + providers.HowToGetOne("Hãy đặt", "hoặc", "chạy") + ", để có câu trả lời thật.)"
}

// Texts for a person, in both languages.
const (
	// The end of a quotation, and the answer without one, for an assistant with a purpose: its users
	// cannot change the host's setup, so these texts do not mention it.
	quotedEnglish    = "(This is quoted as it was found. It was not written for your question.)"
	quotedVietnamese = "(Nội dung trên được trích nguyên văn, không phải viết riêng cho câu hỏi của bạn.)"
	lostEnglish      = "I am an automatic assistant that quotes what is written, and I found nothing to quote for this. Please ask a whole question, and I will look again."
	lostVietnamese   = "Mình là trợ lý tự động, chỉ trích những gì có sẵn, và chưa tìm được gì để trích cho câu này. Bạn hỏi bằng một câu đầy đủ giúp mình nhé."

	// The same after an earlier answer, which may have been instructions for an emergency: a person
	// must not think that they no longer apply, nor that they cover what has happened since.
	noMoreEnglish    = "I am an automatic assistant that quotes what is written, and I found nothing more for this. What I said before was about what you had told me then. If something is new or has got worse, it may not be enough: have it looked at now. For anything else, ask a whole question, and I will look again."
	noMoreVietnamese = "Mình là trợ lý tự động, chỉ trích những gì có sẵn, và chưa tìm được gì thêm cho câu này. Những điều mình đã nói là cho những gì bạn kể lúc đó. Nếu có điều gì mới hoặc nặng hơn, chúng có thể chưa đủ: hãy nhờ người có chuyên môn xem ngay. Nếu hỏi điều khác, bạn hỏi bằng một câu đầy đủ giúp mình nhé."
)

// lost returns the text that nothing was found. Before the first real answer, where the message may be
// a greeting, the text also names what the person can ask about.
func lost(t turn) string {
	if t.hasAnswered() {
		return pick(t.vietnamese, noMoreVietnamese, noMoreEnglish)
	}
	said := pick(t.vietnamese, lostVietnamese, lostEnglish)
	if about := strings.TrimSuffix(strings.TrimSpace(t.about), "."); about != "" {
		said += pick(t.vietnamese, " Bạn có thể hỏi mình về: ", " You can ask me about: ") + about + "."
	}
	return said
}

// hasAnswered reports whether an earlier answer was more than that nothing was found.
func (t turn) hasAnswered() bool {
	return slices.ContainsFunc(t.answers, func(a string) bool { return !isLost(a) })
}

// isLost reports whether an earlier answer was only that nothing was found.
func isLost(answer string) bool {
	return slices.ContainsFunc([]string{lostEnglish, lostVietnamese, unsureEnglish, unsureVietnamese}, func(s string) bool { return strings.HasPrefix(answer, s) })
}

func pick(vietnamese bool, vi, en string) string {
	if vietnamese {
		return vi
	}
	return en
}

// answer quotes the results of a turn, or without results explains what the person can do.
func answer(t turn, tools []schemas.ToolInfo) string {
	closing := pick(t.vietnamese, closingVietnamese(), closingEnglish())
	if t.about != "" && !t.called {
		closing = pick(t.vietnamese, quotedVietnamese, quotedEnglish)
	}
	if len(t.results) == 0 {
		if t.perhaps != "" {
			return unsure(t) + "\n\n" + closing
		}
		if t.about != "" {
			return lost(t)
		}
		return nothing(t.vietnamese, tools)
	}
	var parts []string
	for _, r := range t.results {
		if t.called {
			parts = append(parts, report(r, t.vietnamese))
		} else if s := t.quoteNews(r); s != "" && !r.IsError {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return lost(t)
	}
	return strings.Join(append(parts, closing), "\n\n")
}

// report introduces the result of a call and quotes it.
func report(r schemas.ToolResult, vietnamese bool) string {
	quoted, instead := quote(r, vietnamese), perhaps(r, vietnamese)
	switch {
	case instead != "":
		return pick(vietnamese, unsureVietnamese, unsureEnglish) + " " + instead
	case r.IsError && quoted == "":
		return pick(vietnamese, "Công cụ "+r.ToolName+" báo lỗi mà không nói lý do.", "The tool "+r.ToolName+" reported an error without a reason.")
	case r.IsError:
		return pick(vietnamese, "Công cụ "+r.ToolName+" báo lỗi: ", "The tool "+r.ToolName+" reported an error: ") + quoted
	case quoted == "":
		return pick(vietnamese, "Công cụ "+r.ToolName+" không trả về kết quả nào.", "The tool "+r.ToolName+" returned no results.")
	}
	return pick(vietnamese, "Kết quả từ "+r.ToolName+":\n", "Result of "+r.ToolName+":\n") + quoted
}

// maxNamed is how many tools are named to a person whose question fits none of them.
const maxNamed = 5

// nothing answers a question for which no tool was called. The host has no model; without tools it
// can answer nothing, so the text explains how to add both.
func nothing(vietnamese bool, tools []schemas.ToolInfo) string {
	if len(tools) == 0 {
		return pick(vietnamese,
			"Chưa có mô hình nào và cũng chưa nối máy chủ MCP nào, nên ở đây chưa trả lời được. "+providers.HowToGetOne("Hãy đặt", "hoặc", "chạy")+"; nối máy chủ bằng mcpServers trong molar.yaml hoặc --mcp TÊN=\"lệnh\". molar doctor cho biết còn thiếu gì.",
			"Neither a model nor an MCP server answers here yet. "+providers.HowToGetOne("Set", "or", "run")+"; attach a server under mcpServers in molar.yaml or with --mcp NAME=\"command\". molar doctor says what is missing.")
	}
	said := pick(vietnamese,
		"Chưa cấu hình mô hình nào, nên tôi chỉ có thể gọi công cụ khớp với câu hỏi và trích kết quả; "+providers.HowToGetOne("hãy đặt", "hoặc", "chạy")+", để có câu trả lời thật.",
		"No model is configured, so I can only call a tool that matches the question and quote its result; "+providers.HowToGetOne("set", "or", "run")+", for real answers.")
	var names []string
	for _, t := range tools[:min(len(tools), maxNamed)] {
		names = append(names, t.Name)
	}
	list := strings.Join(names, ", ")
	if len(tools) > maxNamed {
		list += ", …"
	}
	return said + pick(vietnamese, " Các công cụ đang có: ", " Tools at hand: ") + list + "."
}

// askFor asks for the missing arguments, by name.
func askFor(vietnamese bool, tool string, missing []field) string {
	var names []string
	for _, f := range missing {
		name := `"` + f.name + `"`
		if f.Description != "" {
			name += " (" + text.Clip(oneLine(f.Description), 120, "…") + ")"
		}
		if len(f.Enum) > 0 {
			members := f.members()
			name += " [" + strings.Join(members[:min(len(members), maxItems)], " | ") + "]"
		}
		names = append(names, name)
	}
	list := strings.Join(names, ", ")
	return pick(vietnamese,
		"Để dùng công cụ "+tool+", tôi còn cần "+list+". Bạn cho tôi biết nhé?",
		"To use the tool "+tool+" I still need "+list+". What should it be?")
}

// maxSummary bounds a summary, in bytes.
const maxSummary = 600

// summarize returns the question's first sentence and the answer's first two. The answer is the
// assistant's text after the last question, else the last tool result.
func summarize(t turn, messages []schemas.Message) string {
	var reply string
	for _, r := range t.results {
		reply = r.OutputText()
	}
	if last := len(messages) - 1; last >= 0 && messages[last].Role == schemas.RoleAssistant {
		reply = messages[last].Said()
	}
	for _, c := range []string{closingEnglish(), closingVietnamese()} {
		reply = strings.ReplaceAll(reply, c, "")
	}
	parts := append(firstSentences(t.question, 1), firstSentences(reply, 2)...)
	return text.Clip(strings.Join(parts, " "), maxSummary, "…")
}

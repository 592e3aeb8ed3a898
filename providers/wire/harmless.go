package wire

import "strings"

// marks returns the markers of turns, calls and thoughts in the templates of models.
func marks() []string {
	return []string{
		"<|", "<｜", "<start_of_turn>", "<end_of_turn>", "<s>", "</s>", "<bos>", "<eos>",
		"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>",
		"[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]",
		"<<SYS>>", "<</SYS>>",
	}
}

// Harmless breaks template markers in a tool's text. Servers that render the prompt interpret
// them anywhere, so that a result could forge a turn.
func Harmless(s string) string {
	var b strings.Builder
	all, done := marks(), 0
	for i := range len(s) {
		if s[i] != '<' && s[i] != '[' {
			continue
		}
		for _, m := range all {
			if strings.HasPrefix(s[i:], m) {
				b.WriteString(s[done:i+1] + " ")
				done = i + 1
				break
			}
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

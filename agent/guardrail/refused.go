package guardrail

import "strings"

// Refused reports whether an answer ends in one of the topic's own refusals: the question
// before it did not pass.
func (g *Guard) Refused(answer string) bool {
	answer = strings.TrimSpace(answer)
	for _, lang := range []string{"vi", "en"} {
		if text := strings.TrimSpace(g.Refusal(lang)); text != "" && strings.HasSuffix(answer, text) {
			return true
		}
	}
	return false
}

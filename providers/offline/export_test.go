package offline

import "molar/schemas"

// A Score rates how well a tool suits a question.
type Score struct {
	Tool  string
	Score float64
}

// Rank scores tools by the words that they share with a question, best first.
func Rank(tools []schemas.ToolInfo, question string) []Score {
	var scores []Score
	for _, t := range rank(tools, readQuestion(question)) {
		scores = append(scores, Score{t.Name, t.score})
	}
	return scores
}

// FixedTexts returns the texts that an answer about a subject may contain in addition to
// quotations.
func FixedTexts() []string {
	return []string{quotedEnglish, quotedVietnamese, lostEnglish, lostVietnamese, noMoreEnglish, noMoreVietnamese}
}

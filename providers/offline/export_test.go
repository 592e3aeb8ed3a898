package offline

import "molar/schemas"

// A Score says how well a tool suits a question.
type Score struct {
	Tool  string
	Score float64
}

// Rank scores tools by the words that a question shares with them, best first.
func Rank(tools []schemas.ToolInfo, question string) []Score {
	var scores []Score
	for _, t := range rank(tools, readQuestion(question)) {
		scores = append(scores, Score{t.Name, t.score})
	}
	return scores
}

// FixedTexts are what a person reads who asks about a subject, beside what was found.
func FixedTexts() []string {
	return append(fixedTexts(), quotedEnglish, quotedVietnamese, nodEnglish, nodVietnamese)
}

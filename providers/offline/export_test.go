package offline

import "molar/schemas"

// Ranker reads tools once, and scores them for any number of questions by their words
// alone, best first; equal scores keep the order of tools. It calls no model and never
// fails.
func Ranker(tools []schemas.ToolInfo) func(question string) []Score {
	rank := newIndex(tools)
	return func(question string) []Score {
		var scores []Score
		for _, c := range rank.candidates(readQuestion(question)) {
			scores = append(scores, c.Score)
		}
		return scores
	}
}

// FixedTexts are what a person reads who asks about a subject, beside what was found.
func FixedTexts() []string {
	texts := []string{
		quotedEnglish, quotedVietnamese, lostEnglish, lostVietnamese, noMoreEnglish, noMoreVietnamese, newEnglish, newVietnamese, nodEnglish, nodVietnamese,
	}
	for _, c := range courtesies() {
		texts = append(texts, c.vi, c.en)
	}
	return texts
}

package guardrail

import (
	"strconv"

	"molar/agent/linear"
	"molar/internal/text"
)

// How much each family of features counts in a message of any length.
const (
	runShare  = 1
	wordShare = 1.2
	strangers = 0.5
	bias      = 1
)

// alone turns the words of a message into what the classifier weighs: character runs,
// words and pairs of words, and how many of them are new to the topic.
func alone(words []text.Word, known vocabulary) []linear.Feature {
	fs := make([]linear.Feature, 0, 32*len(words))
	fs = append(fs, linear.Feature{Hash: linear.Hash("bias", "", ""), Value: bias})
	fs = linear.AppendRuns(fs, words, runShare)
	fs = linear.AppendWords(fs, "w", words, wordShare)
	return appendStrangers(fs, "w", words, known)
}

// behind is the message read behind an exchange on the topic, where "how much?" means
// something: its words count a second time under names of their own.
func behind(words []text.Word, known vocabulary) []linear.Feature {
	fs := append(alone(words, known), linear.Feature{Hash: linear.Hash("bias", "after", ""), Value: bias})
	return appendStrangers(linear.AppendWords(fs, "after", words, 1), "after", words, known)
}

// appendStrangers adds how many words and pairs of words no example of the topic has
// used: a message with many of them speaks of something else.
func appendStrangers(fs []linear.Feature, name string, words []text.Word, known vocabulary) []linear.Feature {
	if known.size() == 0 {
		return fs
	}
	var single, pairs int
	for i, w := range words {
		if !known.holds(linear.Hash("term", w.Folded, "")) {
			single++
		}
		if i+1 < len(words) && !known.holds(linear.Hash("term", w.Folded, words[i+1].Folded)) {
			pairs++
		}
	}
	n := max(len(words), 1)
	for _, sign := range [...]string{
		"words " + strconv.Itoa(min(single, 5)), "share " + strconv.Itoa(single*5/n), "pairs " + strconv.Itoa(pairs*5/n),
	} {
		fs = append(fs, linear.Feature{Hash: linear.Hash(name, "strangers", sign), Value: strangers})
	}
	return fs
}

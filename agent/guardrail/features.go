package guardrail

import (
	"molar/agent/linear"
	"molar/internal/text"
)

// How much each family of features counts in a message of any length.
const (
	runShare  = 1
	wordShare = 1.2
	endShare  = 0.7
	bias      = 1
)

// plain turns the words of a text into character runs, words and pairs of words.
func plain(words []text.Word) []linear.Feature {
	fs := make([]linear.Feature, 0, 40*len(words))
	fs = append(fs, linear.Feature{Hash: linear.Hash("bias", "", ""), Value: bias})
	fs = linear.AppendRuns(fs, words, runShare)
	return linear.AppendWords(fs, "w", words, wordShare)
}

// alone is what the classifier weighs of a message: the words of its last part count once more,
// as it is there that people say what they want.
func alone(words []text.Word) []linear.Feature {
	return linear.AppendWords(plain(words), "end", lastPart(words), endShare)
}

// behind is a message read behind an exchange on the topic, where "how much?" means something.
func behind(alone []linear.Feature) []linear.Feature {
	return append(alone, linear.Feature{Hash: linear.Hash("bias", "after", ""), Value: bias})
}

// A last part has so many words, unless a sentence begins between them.
const fewestLast, mostLast = 4, 24

// lastPart returns the last sentence, with the one before it where it is very short.
func lastPart(words []text.Word) []text.Word {
	from := len(words)
	for from > 0 {
		from--
		if n := len(words) - from; n >= mostLast || n >= fewestLast && words[from].Pause == text.SentencePause {
			break
		}
	}
	return words[from:]
}

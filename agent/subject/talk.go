package subject

import (
	_ "embed"
	"strconv"

	"molar/internal/text"
)

// talkWeights are two tables: for follow-ups, and for messages about the talk itself.
// agent/subject/learn/generate writes them.
//
//go:embed words/conversation.weights
var talkWeights string

const (
	// TalkBits is the size of each table.
	TalkBits = 15
	// leansFrom was chosen by cross-validation. A follow-up searched without its subject finds
	// nothing; a question searched after another finds both.
	leansFrom = -1.0
)

// A talkModel classifies the needs of a message by general signs, learned from conversations about
// many subjects.
type talkModel struct{ leans, talk Table }

// readTalk decodes both tables, each of 1<<TalkBits buckets.
func readTalk(data string) (m talkModel) {
	m.leans, data = readTable(data, TalkBits)
	m.talk, _ = readTable(data, TalkBits)
	return m
}

// needs returns the needs of a message, by the stronger sign. If it names a thing of the topic, a
// stronger sign is required.
func (m talkModel) needs(words []text.Word, named bool) Needs {
	fs := talkFeatures(words)
	leans, talk := m.leans.Score(fs), m.talk.Score(fs)
	from := leansFrom
	if named {
		from = 0
	}
	switch {
	case talk > 0 && talk > leans && len(words) > 1: // one word says too little
		return AboutTalk
	case leans > from:
		return FollowUp
	}
	return StandsAlone
}

// The weights of the sign families, relative to character runs and words.
const (
	edgeShare   = 0.5
	lengthShare = 0.7
)

// TalkFeatures returns the features of a message for the classifiers of what it needs.
func TalkFeatures(message string) []Feature {
	clean, _, _ := normalise(message)
	return talkFeatures(wordsOf(clean))
}

// talkFeatures returns the words, pairs of words and character runs of a message, its beginning and
// end, and its length.
func talkFeatures(words []text.Word) []Feature {
	fs := make([]Feature, 0, 40*len(words)+1)
	fs = append(fs, Feature{Hash: hash("bias", "talk", ""), Value: bias})
	fs = appendRuns(fs, words, runShare)
	fs = appendWords(fs, "talk", words, wordShare)
	n := len(words)
	fs = append(fs, Feature{Hash: hash("talk", "length", strconv.Itoa(min(n, 8+n/4))), Value: lengthShare})
	if n == 0 {
		return fs
	}
	second, last := words[min(1, n-1)].Folded, words[n-1].Folded
	return append(fs,
		Feature{Hash: hash("first", words[0].Folded, ""), Value: edgeShare}, Feature{Hash: hash("first", words[0].Folded, second), Value: edgeShare},
		Feature{Hash: hash("last", last, ""), Value: edgeShare}, Feature{Hash: hash("last", words[max(0, n-2)].Folded, last), Value: edgeShare})
}

package subject

import (
	_ "embed"
	"strconv"

	"molar/internal/text"
)

// talkWeights are two tables: for follow-ups, and for messages about the talk itself.
// agent/subject/train writes them.
//
//go:embed words/conversation.weights
var talkWeights string

const (
	// talkBits is the size of each table.
	talkBits = 15
	// talkDecay and leansFrom were chosen by cross-validation. A follow-up searched without its
	// subject finds nothing; a question searched after another finds both.
	talkDecay  = 2e-3
	talkEpochs = 12
	leansFrom  = -1.0
)

// A talkModel classifies the needs of a message by general signs, learned from conversations about
// many subjects.
type talkModel struct{ leans, talk Table }

// A TalkLesson is a message labelled by its needs.
type TalkLesson struct {
	Text   string
	Needs  Needs // StandsAlone, FollowUp or AboutTalk
	Weight float64
}

// TrainTalk trains the classifier of needs and returns both tables in the embedded form. Each label
// counts the same, however many lessons it has.
func TrainTalk(lessons []TalkLesson) string {
	total := make(map[Needs]float64)
	for _, l := range lessons {
		total[l.Needs] += l.Weight
	}
	var out []byte
	for _, needs := range []Needs{FollowUp, AboutTalk} {
		var all []sample
		for _, l := range lessons {
			clean, _, _ := normalise(l.Text)
			share := l.Weight * float64(len(lessons)) / total[l.Needs] / float64(len(total))
			all = append(all, sample{Features: talkFeatures(wordsOf(clean)), In: l.Needs == needs, Weight: share})
		}
		out = fit(all, talkBits, talkEpochs, talkDecay).Append(out)
	}
	return string(out)
}

// readTalk decodes the result of [TrainTalk].
func readTalk(data string) (m talkModel) {
	m.leans, data = readTable(data, talkBits)
	m.talk, _ = readTable(data, talkBits)
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

// talkFeatures returns the words, pairs of words and character runs of a message, its beginning and
// end, and its length.
func talkFeatures(words []text.Word) []feature {
	fs := make([]feature, 0, 40*len(words)+1)
	fs = append(fs, feature{Hash: hash("bias", "talk", ""), Value: bias})
	fs = appendRuns(fs, words, runShare)
	fs = appendWords(fs, "talk", words, wordShare)
	n := len(words)
	fs = append(fs, feature{Hash: hash("talk", "length", strconv.Itoa(min(n, 8+n/4))), Value: lengthShare})
	if n == 0 {
		return fs
	}
	second, last := words[min(1, n-1)].Folded, words[n-1].Folded
	return append(fs,
		feature{Hash: hash("first", words[0].Folded, ""), Value: edgeShare}, feature{Hash: hash("first", words[0].Folded, second), Value: edgeShare},
		feature{Hash: hash("last", last, ""), Value: edgeShare}, feature{Hash: hash("last", words[max(0, n-2)].Folded, last), Value: edgeShare})
}

package subject

import (
	_ "embed"
	"strconv"

	"molar/internal/text"
)

// talkWeights are two tables: for messages that lean on a subject, and for those about the
// talk itself. "go generate ./agent/subject" makes them from data.
//
//go:embed words/conversation.weights
var talkWeights string

const (
	// talkBits is the size of both tables.
	talkBits = 15
	// talkDecay and leansFrom were chosen by cross-validation. A follow-up that is searched
	// without its subject finds nothing; a question behind another one finds both.
	talkDecay  = 2e-3
	talkEpochs = 12
	leansFrom  = -1.0
)

// A talkModel says by general signs, learned from conversations about many subjects, what
// a message needs.
type talkModel struct{ leans, talk Table }

// A TalkLesson is a message that was labelled by what it needs.
type TalkLesson struct {
	Text   string
	Needs  Needs // StandsAlone, FollowUp or AboutTalk
	Weight float64
}

// TrainTalk learns what messages need and returns both tables in the form that is
// embedded. Each label counts the same, however many lessons it has.
func TrainTalk(lessons []TalkLesson) string {
	total := make(map[Needs]float64)
	for _, l := range lessons {
		total[l.Needs] += l.Weight
	}
	var out []byte
	for _, needs := range []Needs{FollowUp, AboutTalk} {
		var all []Sample
		for _, l := range lessons {
			clean, _, _ := normalise(l.Text)
			share := l.Weight * float64(len(lessons)) / total[l.Needs] / float64(len(total))
			all = append(all, Sample{Features: talkFeatures(wordsOf(clean)), In: l.Needs == needs, Weight: share})
		}
		out = Fit(all, talkBits, talkEpochs, talkDecay).Append(out)
	}
	return string(out)
}

// readTalk reads what [TrainTalk] wrote.
func readTalk(data string) (m talkModel) {
	m.leans, data = Read(data, talkBits)
	m.talk, _ = Read(data, talkBits)
	return m
}

// needs returns what a message needs, by the stronger sign. One that names a thing of the
// topic needs more of it.
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

// What each family of signs counts beside runs of characters and words.
const (
	edgeShare   = 0.5
	lengthShare = 0.7
)

// talkFeatures are the words, pairs of words and character runs of a message, how it
// begins and ends, and its length.
func talkFeatures(words []text.Word) []Feature {
	fs := []Feature{{Hash: Hash("bias", "talk", ""), Value: bias}}
	fs = AppendRuns(fs, words, runShare)
	fs = AppendWords(fs, "talk", words, wordShare)
	n := len(words)
	fs = append(fs, Feature{Hash: Hash("talk", "length", strconv.Itoa(min(n, 8+n/4))), Value: lengthShare})
	if n == 0 {
		return fs
	}
	second, last := words[min(1, n-1)].Folded, words[n-1].Folded
	return append(fs,
		Feature{Hash: Hash("first", words[0].Folded, ""), Value: edgeShare}, Feature{Hash: Hash("first", words[0].Folded, second), Value: edgeShare},
		Feature{Hash: Hash("last", last, ""), Value: edgeShare}, Feature{Hash: Hash("last", words[max(0, n-2)].Folded, last), Value: edgeShare})
}

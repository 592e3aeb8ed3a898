package subject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molar/internal/text"
)

// A Classifier is what was learned of a topic: the table of its messages, and the thresholds of sure
// decisions.
type Classifier struct {
	Table
	Sure
	// Answers classifies whether a part of an answer keeps to the topic; without training on
	// answers it has no bits.
	Answers Table
	// FollowUps is set if follow-ups were in the training.
	FollowUps bool
	// Languages are the codes of the languages that it was trained in; only in these it is sure.
	Languages []string
}

// Sure holds the thresholds of sure decisions: In admits a message alone, and Named one that names the
// topic; a score of at most Out in both readings refuses it. From After on a message clearly follows an exchange on the topic, if
// no judge answers. An infinite threshold means never.
type Sure struct{ In, Named, After, Out float32 }

// Never returns the thresholds that let code be sure of nothing.
func Never() Sure {
	never := float32(math.Inf(1))
	return Sure{In: never, Named: never, After: never, Out: -never}
}

// The encoded form is the magic, ten numbers, the languages, the table and the table of answers.
const (
	classifierMagic  = "MGW9"
	classifierHeader = len(classifierMagic) + 10*4
	// mostBits is the size of the largest table, and mostLanguages bounds the list of languages in
	// bytes.
	mostBits, mostLanguages = 22, 1 << 10
)

// Encode returns the classifier in the form that [Topic.Weights] takes.
func (c Classifier) Encode() string {
	languages := strings.Join(c.Languages, " ")
	followUps := uint32(0)
	if c.FollowUps {
		followUps = 1
	}
	out := []byte(classifierMagic)
	for _, n := range []uint32{
		uint32(c.Bits), math.Float32bits(c.Scale), math.Float32bits(c.In), math.Float32bits(c.Named), math.Float32bits(c.After), math.Float32bits(c.Out), //nolint:gosec // few bits
		uint32(c.Answers.Bits), math.Float32bits(c.Answers.Scale), followUps, uint32(len(languages)), //nolint:gosec // few bits, and some languages
	} {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return string(out) + languages + c.Cells + c.Answers.Cells
}

// DecodeClassifier reads the result of [Classifier.Encode], or any other bytes. It reads only the
// header, so that no page of the table is touched before the first question.
func DecodeClassifier(data string) (c Classifier, err error) {
	foreign := fmt.Errorf("weights of %d bytes are not of the expected form: train them again", len(data))
	if len(data) < classifierHeader || data[:len(classifierMagic)] != classifierMagic {
		return c, foreign
	}
	field := func(i int) uint32 {
		at := len(classifierMagic) + 4*i
		return binary.LittleEndian.Uint32([]byte(data[at : at+4]))
	}
	number := func(i int) float32 { return math.Float32frombits(field(i)) }
	bits, answerBits, languages := field(0), field(6), field(9)
	if bits < 1 || bits > mostBits || answerBits > mostBits || languages > mostLanguages {
		return c, foreign
	}
	rest := data[classifierHeader:]
	if len(rest) != int(languages)+cells(int(bits))+cells(int(answerBits)) {
		return c, foreign
	}
	c.Languages, rest = strings.Fields(rest[:languages]), rest[languages:]
	c.Table = Table{Bits: int(bits), Scale: number(1), Cells: rest[:cells(int(bits))]}
	c.Answers = Table{Bits: int(answerBits), Scale: number(7), Cells: rest[cells(int(bits)):]}
	c.Sure, c.FollowUps = Sure{number(2), number(3), number(4), number(5)}, field(8) == 1
	sound := c.isSound() && (answerBits == 0 || c.Answers.isSound())
	if !(sound && c.In >= 0 && c.Named >= 0 && c.After >= 0 && c.Out <= 0) {
		return c, errors.New("weights have impossible thresholds: train them again")
	}
	return c, nil
}

// cells returns the bytes of the cells of a table of 1<<bits buckets, none for no bits.
func cells(bits int) int {
	if bits == 0 {
		return 0
	}
	return 1 << (bits - 1)
}

// The weights of the feature families in a message of any length.
const (
	runShare  = 1
	wordShare = 1.2
	endShare  = 0.7
	bias      = 1
)

// AnswerFeatures returns the features of a part of an answer.
func AnswerFeatures(part string) []Feature {
	clean, _, _ := normalise(part)
	return plain(wordsOf(clean))
}

// Names reports whether a message names the topic.
func (g *Guard) Names(message string) bool {
	g.Prepare()
	return g.read(message).named
}

// Features returns the features of a message, alone and behind the last exchange.
func (g *Guard) Features(message string, last *Exchange) (first, after []Feature) {
	g.Prepare()
	r := g.read(message)
	first = slices.Clip(alone(r.words))
	return first, behind(first, r.burden(last))
}

// plain returns the character runs, words and pairs of words of a text.
func plain(words []text.Word) []Feature {
	fs := make([]Feature, 0, 40*len(words))
	fs = append(fs, Feature{Hash: hash("bias", "", ""), Value: bias})
	fs = appendRuns(fs, words, runShare)
	return appendWords(fs, "w", words, wordShare)
}

// alone returns the features of a message alone: the words of its last part count twice, as people
// say there what they want.
func alone(words []text.Word) []Feature {
	return appendWords(plain(words), "end", lastPart(words), endShare)
}

// mostCounted is the largest number of words that is told from fewer.
const mostCounted = 4

// behind returns the features of a message after an exchange on the topic, where "how much?" has a
// meaning: it matters how many of its words bring a subject of their own.
func behind(alone []Feature, b burden) []Feature {
	count := func(n int) string { return strconv.Itoa(min(n, mostCounted)) }
	fresh, known, names := count(b.fresh), count(b.known), count(b.names)
	return append(alone,
		Feature{Hash: hash("bias", "after", ""), Value: bias}, Feature{Hash: hash("after", "fresh", fresh), Value: bias},
		Feature{Hash: hash("after", "known", known), Value: bias}, Feature{Hash: hash("after", "names", names), Value: bias},
		Feature{Hash: hash("after", fresh, count(b.known+b.names)), Value: bias})
}

// The word limits of a last part, which a sentence start may shorten.
const fewestLast, mostLast = 4, 24

// lastPart returns the last sentence, with the one before it if it is very short.
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

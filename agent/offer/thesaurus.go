package offer

import (
	_ "embed"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

//go:embed thesaurus.txt
var lines string

// The weights of a synonym. A Vietnamese phrase is not in a tool's words: the first English word of
// its line is its translation.
const (
	translated = 0.9
	alike      = 0.5
)

// A want is one thing that a question names, in several words; the best match in a tool counts.
type want []weighted

type weighted struct {
	stem   string
	weight float64
}

// A thesaurus maps words to their synonyms.
type thesaurus struct {
	english map[string]want // by stem
	// marked are Vietnamese phrases as written, plain without their marks.
	marked, plain map[string]want
	longest       int // in syllables
}

var words = sync.OnceValue(func() *thesaurus {
	t := &thesaurus{english: map[string]want{}, marked: map[string]want{}, plain: map[string]want{}}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		english, vietnamese, _ := strings.Cut(line, ";")
		var same want
		for i, w := range strings.Fields(english) {
			same = append(same, weighted{text.Stem(w), alike})
			if i == 0 {
				same[0].weight = translated
			}
		}
		for _, w := range same {
			for _, other := range same {
				t.english[w.stem] = t.english[w.stem].with(other.stem, alike)
			}
		}
		for phrase := range strings.SplitSeq(vietnamese, ",") {
			t.add(strings.TrimSpace(phrase), same)
		}
	}
	return t
})

func (t *thesaurus) add(phrase string, same want) {
	if phrase == "" {
		return
	}
	for _, w := range same {
		t.marked[lowercase(phrase)] = t.marked[lowercase(phrase)].with(w.stem, w.weight)
		t.plain[text.Fold(phrase)] = t.plain[text.Fold(phrase)].with(w.stem, w.weight)
	}
	t.longest = max(t.longest, len(strings.Fields(phrase)))
}

// with adds a word, or raises its weight.
func (w want) with(stem string, weight float64) want {
	for i := range w {
		if w[i].stem == stem {
			w[i].weight = max(w[i].weight, weight)
			return w
		}
	}
	return append(w, weighted{stem, weight})
}

// of returns the want at the start of words, and how many words it takes. known are the Vietnamese
// phrases to look for, nil in an English text.
func (t *thesaurus) of(words []string, known map[string]want) (want, int) {
	for n := min(t.longest, len(words)); n > 0; n-- {
		if w := known[strings.Join(words[:n], " ")]; w != nil {
			return w, n
		}
	}
	word := text.Fold(words[0])
	if empty()[word] {
		return nil, 1
	}
	stem := text.Stem(word)
	return append(want{{stem, 1}}, t.english[stem]...), 1
}

func lowercase(s string) string { return strings.ToLower(norm.NFC.String(s)) }

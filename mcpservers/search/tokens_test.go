package search

import (
	"strings"
	"testing"
)

func TestStem(t *testing.T) {
	topics, err := readGuide("en")
	if err != nil {
		t.Fatal(err)
	}
	stem := newVocabulary("en", topics).stem
	for _, same := range []string{"chip chipped chipping chips", "tooth teeth", "bleed bleeding bled", "brush brushes brushing brushed", "bite biting", "cavity cavities", "move moving moved", "break broken broke"} {
		words := strings.Fields(same)
		for _, w := range words[1:] {
			if stem(w) != stem(words[0]) {
				t.Errorf("stem(%q) = %q, stem(%q) = %q", words[0], stem(words[0]), w, stem(w))
			}
		}
	}
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"Răng khôn, số 8!", "tooth's “edge”", "\xff\x00", "ca\u0302\u0300u", "İstanbul"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range tokenize(text) {
			if tok.raw == "" || strings.ContainsAny(tok.raw, " \t\n\"'") {
				t.Errorf("token %q of %q", tok.raw, text)
			}
		}
	})
}

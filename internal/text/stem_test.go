package text_test

import (
	"strings"
	"testing"

	"molar/internal/text"
)

func TestStem(t *testing.T) {
	for _, same := range []string{"chip chipped chipping chips", "brush brushes brushing brushed", "bite biting", "cavity cavities", "move moving moved"} {
		words := strings.Fields(same)
		for _, w := range words[1:] {
			if text.Stem(w) != text.Stem(words[0]) {
				t.Errorf("Stem(%q) = %q, Stem(%q) = %q", words[0], text.Stem(words[0]), w, text.Stem(w))
			}
		}
	}
}

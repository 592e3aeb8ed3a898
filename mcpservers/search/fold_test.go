package search

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Every letter loses its marks as NFD takes them off, and đ, which NFD leaves, is a d.
func TestFold(t *testing.T) {
	for upper := rune(0xC0); upper < 0x1F00; upper++ {
		r := unicode.ToLower(upper)
		want := strings.Map(func(r rune) rune {
			switch {
			case r == 'đ':
				return 'd'
			case unicode.Is(unicode.Mn, r):
				return -1
			}
			return r
		}, norm.NFD.String(string(r)))
		if got := fold(string(r)); got != want {
			t.Fatalf("fold(%q) = %q, want %q", r, got, want)
		}
	}
	if got := fold("nghiến răng đường ruột"); got != "nghien rang duong ruot" {
		t.Error(got)
	}
}

func TestStem(t *testing.T) {
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

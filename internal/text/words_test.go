package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/text"
)

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"Răng em, đau. Sốt 38.5 độ!":    "..răng em ,đau .sốt 38 5 độ",
		"I don't (really) ‘know’ teeth": "..i don't ,really ,‘know’ teeth",
		"a\nb: c":                       "..a .b ,c",
		"'tis  \xff x":                  "..tis x",
		"":                              "",
	} {
		var parts []string
		for _, w := range text.Words(in) {
			parts = append(parts, [...]string{"", ",", "."}[w.Pause]+w.Raw)
		}
		got := strings.Join(parts, " ")
		if got != "" {
			got = "." + got
		}
		if strings.ReplaceAll(got, "‘", "") != strings.ReplaceAll(strings.ReplaceAll(want, "‘", ""), "’", "") {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	want := []text.Word{{Raw: "bệnh", Folded: "benh", Pause: text.SentencePause}, {Raw: "đau", Folded: "dau", Bare: true}, {Raw: "boxes", Folded: "box", Bare: true}}
	if diff := cmp.Diff(want, text.Words("Bệnh ĐAU boxes")); diff != "" {
		t.Error(diff)
	}
}

func TestPhrases(t *testing.T) {
	sources := []string{"bón phân", "lá", "water|feed * plants", "=chó con", "jail*", "knocked * out"}
	for _, tt := range []struct {
		text          string
		loose, strict bool
	}{
		{"Bón phân cho lan", true, true},
		{"bon phan cho lan", true, true},
		{"bòn phận", false, false},
		{"lá vàng", true, true},
		{"la vang", true, false},
		{"là", false, false},
		{"water all of my plants", true, true},
		{"feed the plant", true, true},
		{"water. My plants", false, false},
		{"it was not knocked it did not come out", false, false},
		{"knocked it out", true, true},
		{"cho con", false, false},
		{"chó con", true, true},
		{"jailbreaking", true, true},
		{"", false, false},
	} {
		words := text.Words(tt.text)
		if got := text.NewPhrases(sources).In(words); got != tt.loose {
			t.Errorf("%q: %v", tt.text, got)
		}
		if got := text.NewStrictPhrases(sources).In(words); got != tt.strict {
			t.Errorf("%q, strict: %v", tt.text, got)
		}
	}
}

func TestCover(t *testing.T) {
	hello, fill := text.NewPhrases([]string{"good morning", "hello"}), text.NewPhrases([]string{"dear", "doctor"})
	for in, want := range map[string]bool{"Good morning, dear doctor": true, "dear doctor": false, "hello doctor, my car broke": false, "": false} {
		if got := text.Cover(text.Words(in), hello, fill); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func FuzzPhrases(f *testing.F) {
	f.Add("a|b * c*", "a x y c")
	f.Add("=*| |", "\u0301 *")
	f.Fuzz(func(t *testing.T, source, in string) {
		words := text.Words(in)
		p := text.NewPhrases([]string{source})
		for i := range words {
			if n := p.At(words, i); n < 0 || i+n > len(words) {
				t.Errorf("%q takes %d words of %q from %d on", source, n, in, i)
			}
		}
	})
}

package language_test

import (
	_ "embed"
	"strings"
	"testing"

	"molar/agent/language"
)

//go:embed testdata/lines.tsv
var lines string

func TestDetect_Lines(t *testing.T) {
	n, wrong := 0, 0
	sure, sureWrong := 0, 0
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			t.Fatalf("line %q has %d fields, want 4", line, len(f))
		}
		n++
		got, isSure := language.Detect(f[3], f[2])
		if isSure {
			sure++
		}
		if got != f[1] {
			wrong++
			t.Logf("%s: %q (previous %q): got %s (sure %v), want %s", f[0], f[3], f[2], got, isSure, f[1])
			if isSure {
				sureWrong++
			}
		}
	}
	accuracy := 1 - float64(wrong)/float64(n)
	t.Logf("lines %d, accuracy %.4f, sure %d, wrong and sure %d", n, accuracy, sure, sureWrong)
	if n < 150 {
		t.Errorf("only %d lines, want at least 150", n)
	}
	if accuracy < 0.99 {
		t.Errorf("accuracy %.4f, want at least 0.99", accuracy)
	}
	if sureWrong > 0 {
		t.Errorf("%d sure decisions are wrong", sureWrong)
	}
}

func TestDetect_Sure(t *testing.T) {
	for _, tc := range []struct {
		text, previous string
		want           bool
	}{
		{"Răng tôi bị đau", "", true},
		{"toi bi dau rang ham ba ngay nay", "en", true},
		{"How often should I brush?", "vi", true},
		{"", "vi", false},
		{"👍", "vi", false},
		{"ok", "vi", false},
		{"Invisalign", "en", false},
		{"牙痛怎么办", "vi", false},
	} {
		if _, sure := language.Detect(tc.text, tc.previous); sure != tc.want {
			t.Errorf("Detect(%q, %q) sure = %v, want %v", tc.text, tc.previous, sure, tc.want)
		}
	}
}

func TestDetect_DecomposedLettersCountTheSame(t *testing.T) {
	// The same sentence with its marks as characters of their own.
	got, sure := language.Detect("Ra\u0306ng to\u0302i bi\u0323 \u0111au", "en")
	if got != "vi" || !sure {
		t.Errorf("got %s, sure %v; want vi, sure", got, sure)
	}
}

func TestDetect_HugeTextIsCutBetweenRunes(t *testing.T) {
	got, sure := language.Detect(strings.Repeat("ề răng ", 20000), "en")
	if got != "vi" || !sure {
		t.Errorf("got %s, sure %v; want vi, sure", got, sure)
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"", "Đánh răng", "\xff\xfe", "İ", "a\u0300\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { language.Detect(s, "vi") })
}

func BenchmarkDetect(b *testing.B) {
	text := "toi bi dau rang ham ba ngay nay, nhất là khi uống nước lạnh, what should I do?"
	for b.Loop() {
		language.Detect(text, "vi")
	}
}

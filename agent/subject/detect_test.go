package subject_test

import (
	_ "embed"
	"strings"
	"testing"

	"molar/agent/subject"
)

//go:embed testdata/lines.tsv
var lines string

//go:embed testdata/tongues.tsv
var tongues string

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
		got, isSure := subject.Detect(f[3], f[2])
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

// Short lines as people write them in thirty languages, in Vietnamese and in English, with and
// without diacritics. Every second line was held back when the word lists were written.
func TestDetect_Tongues(t *testing.T) {
	type part struct {
		want string
		held bool
	}
	n, right := map[part]int{}, map[part]int{}
	for line := range strings.Lines(tongues) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("line %q has %d fields, want 3", line, len(f))
		}
		p := part{f[0], (n[part{f[0], false}]+n[part{f[0], true}])%2 == 1}
		n[p]++
		got, sure := subject.Detect(f[2], "")
		if got == p.want {
			right[p]++
			continue
		}
		t.Logf("%s: %q: got %s (sure %v), want %s", f[1], f[2], got, sure, p.want)
		if sure {
			t.Errorf("%q is surely %s, which is wrong", f[2], got)
		}
	}
	for p, lines := range n {
		t.Logf("want %s, held back %v: %d of %d", p.want, p.held, right[p], lines)
		if float64(right[p]) < 0.97*float64(lines) {
			t.Errorf("want %s, held back %v: only %d of %d", p.want, p.held, right[p], lines)
		}
	}
}

// The simplest questions of other languages, among them some whose syllables could be Vietnamese.
func TestDetect_PlainestQuestions(t *testing.T) {
	for _, question := range []string{
		"¿Qué es una caries?", "Mi duele la muela", "O que é cárie?", "Qu'est-ce que la carie ?", "Merci, et la fille?",
		"Was ist Karies?", "Wie oft soll ich Zähne putzen?", "Wie wird das Wetter morgen?", "¿Duele mucho la endodoncia?", "Quanto custa um implante?",
		"Combien coûte un implant ?", "Che cos'è la carie?", "Quanto costa un impianto?", "Wat is een gaatje?", "Co to jest próchnica?",
		"Co je zubní kaz?", "Apa itu karies gigi?", "Diş çürüğü nedir?", "Что такое кариес?", "虫歯とは何ですか？", "什么是龋齿？", "충치가 뭐예요?", "ฟันผุคืออะไร",
	} {
		if got, _ := subject.Detect(question, ""); got != subject.Other {
			t.Errorf("%q is taken for %s", question, got)
		}
	}
}

func TestGuess(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ok": "", "3?": "", "Anna": "", "Invisalign": "",
		"Sâu răng là gì?": "vi", "sau rang": "vi", "What is tooth decay?": "en", "bad breath": "en", "Was ist Karies?": "other",
	} {
		if got, _ := subject.Guess(text); got != want {
			t.Errorf("Guess(%q) = %q, want %q", text, got, want)
		}
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
		{"牙痛怎么办", "vi", true},
		{"¿Qué es una caries?", "vi", true},
		{"Karies", "", false},
	} {
		if _, sure := subject.Detect(tc.text, tc.previous); sure != tc.want {
			t.Errorf("Detect(%q, %q) sure = %v, want %v", tc.text, tc.previous, sure, tc.want)
		}
	}
}

func TestDetect_DecomposedLettersCountTheSame(t *testing.T) {
	// The same sentence with its diacritics as combining characters.
	got, sure := subject.Detect("Ra\u0306ng to\u0302i bi\u0323 \u0111au", "en")
	if got != "vi" || !sure {
		t.Errorf("got %s, sure %v; want vi, sure", got, sure)
	}
}

func TestDetect_HugeTextIsCutBetweenRunes(t *testing.T) {
	got, sure := subject.Detect(strings.Repeat("ề răng ", 20000), "en")
	if got != "vi" || !sure {
		t.Errorf("got %s, sure %v; want vi, sure", got, sure)
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"", "Đánh răng", "\xff\xfe", "İ", "a\u0300\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { subject.Detect(s, "vi") })
}

func BenchmarkDetect(b *testing.B) {
	text := "toi bi dau rang ham ba ngay nay, nhất là khi uống nước lạnh, what should I do?"
	for b.Loop() {
		subject.Detect(text, "vi")
	}
}

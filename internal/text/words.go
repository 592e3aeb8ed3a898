package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A Word is one word of a text.
type Word struct {
	Raw    string // lower case, composed, as written
	Folded string // without diacritics and English plural endings
	Bare   bool   // written without diacritics; it may contain đ, which is a separate letter
	// Pause is the pause between the previous word and this one.
	Pause Pause
}

// A Pause separates clauses or sentences.
type Pause int

// The pauses, the longest last.
const (
	NoPause Pause = iota
	ClausePause
	SentencePause
)

// Words splits a text into words: sequences of letters, digits, combining marks and apostrophes. A
// decimal number such as 38.5 is two words without a pause, 38 and 5.
func Words(text string) []Word {
	text = strings.ToLower(norm.NFC.String(strings.ToValidUTF8(text, " ")))
	words := make([]Word, 0, 1+strings.Count(text, " "))
	pause, start := SentencePause, -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		raw := strings.Trim(strings.ReplaceAll(text[start:end], "’", "'"), "'")
		if start = -1; raw != "" {
			words = append(words, NewWord(raw))
			words[len(words)-1].Pause, pause = pause, NoPause
		}
	}
	for i, r := range text {
		switch {
		case isWordRune(r):
			if start < 0 {
				start = i
			}
			continue
		case (r == '.' || r == ',') && start >= 0 && isDigits(text[start:i]) && i+1 < len(text) && isDigits(text[i+1:i+2]):
			flush(i)
			continue
		}
		flush(i)
		pause = max(pause, pauseOf(r))
	}
	flush(len(text))
	return words
}

// NewWord returns the Word for a lower-case word.
func NewWord(raw string) Word {
	folded := Fold(raw)
	return Word{Raw: raw, Folded: singular(folded), Bare: folded == strings.ReplaceAll(raw, "đ", "d")}
}

func pauseOf(r rune) Pause {
	switch r {
	case ',', ';', ':', '(', ')', '[', ']', '|', '=', '>', '–', '—':
		return ClausePause
	case '.', '!', '?', '\n', '…':
		return SentencePause
	}
	return NoPause
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '\'' || r == '’'
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// singular removes an English plural ending from a folded word. No Vietnamese syllable ends in s,
// so none is changed.
func singular(w string) string {
	switch {
	case len(w) <= 3, strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "aches"):
		return w[:len(w)-1]
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	}
	return strings.TrimSuffix(w, "s")
}

// CollapseRepeats replaces a letter that is repeated three times or more by a single one:
// "helloooo".
func CollapseRepeats(raw string) string {
	runes := []rune(raw)
	out := make([]rune, 0, len(runes))
	for i := 0; i < len(runes); {
		n := i
		for n < len(runes) && runes[n] == runes[i] {
			n++
		}
		keep := n - i
		if keep >= 3 && unicode.IsLetter(runes[i]) {
			keep = 1
		}
		out = append(out, runes[i:i+keep]...)
		i = n
	}
	if len(out) == len(runes) {
		return raw
	}
	return string(out)
}

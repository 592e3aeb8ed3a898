package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A Word is one word of a text.
type Word struct {
	Raw    string // lower case, composed, as written
	Folded string // without marks and English plural endings
	Bare   bool   // written without marks; đ, a letter of its own, may be there
	// Pause is what stands between the word and the one before it.
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

// Words cuts a text into words; everything but letters, digits, marks and apostrophes
// separates. A number keeps its whole part: of 38.5 comes 38, and 5 without a pause.
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

// NewWord reads one word in lower case.
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

// singular drops an English plural ending of a folded word. No Vietnamese syllable ends
// in s, so theirs are safe.
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

// Calm writes a letter that stands three times or more once: "helloooo".
func Calm(raw string) string {
	var out []rune
	runes := []rune(raw)
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

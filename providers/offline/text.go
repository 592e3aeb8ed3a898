package offline

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A token is a word of a text.
type token struct {
	raw        string
	bare       string // lower case, no marks
	marked     string // lower case, canonical marks
	stem       string
	start, end int  // bytes in the text
	breaks     bool // punctuation that ends a phrase stands before it
}

// tokenize splits text at everything that is neither letter, digit nor mark.
func tokenize(text string) []token {
	var tokens []token
	start, gap := -1, 0
	flush := func(end int) {
		if start < 0 {
			return
		}
		raw := text[start:end]
		t := token{raw: raw, bare: fold(raw), start: start, end: end}
		t.marked, t.stem = canonical(raw), stem(t.bare)
		t.breaks = strings.ContainsAny(text[gap:start], ".,;:!?()\n")
		tokens = append(tokens, t)
		start, gap = -1, end
	}
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) {
			if start < 0 {
				start = i
			}
			continue
		}
		flush(i)
	}
	flush(len(text))
	return tokens
}

// fold gives the lower-case form without marks: "Đặt" becomes "dat".
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(s)) {
		switch {
		case r == 'đ':
			b.WriteByte('d')
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// canonical gives the lower-case form with the tone mark moved to the end of each
// syllable, so that both spellings of a word ("xóa", "xoá") are one.
func canonical(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	var tone rune
	flush := func() {
		if tone != 0 {
			b.WriteRune(tone)
			tone = 0
		}
	}
	for _, r := range norm.NFD.String(strings.ToLower(s)) {
		switch r {
		case '\u0300', '\u0301', '\u0303', '\u0309', '\u0323':
			tone = r
			continue
		}
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
			flush()
		}
		b.WriteRune(r)
	}
	flush()
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// stem takes the common endings off an English word. It need not give a word, only
// the same for both forms of one.
func stem(w string) string {
	n := len(w)
	switch {
	case n < 4:
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		return w[:n-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "s"):
		return stem(w[:n-1])
	case strings.HasSuffix(w, "ied") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "ing") && n > 5:
		return undouble(w[:n-3])
	case strings.HasSuffix(w, "ed") && n > 4:
		return undouble(w[:n-2])
	}
	return strings.TrimSuffix(w, "e")
}

func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bgmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	return w
}

func stemPhrase(phrase string) string {
	var out []string
	for _, t := range tokenize(phrase) {
		out = append(out, t.stem)
	}
	return strings.Join(out, " ")
}

// splitName turns an identifier into words: "getFamilyDetails", "get_family-details".
func splitName(name string) string {
	var b strings.Builder
	var before rune
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		ends := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if upper && (unicode.IsLower(before) || unicode.IsDigit(before) || (unicode.IsUpper(before) && ends)) {
			b.WriteByte(' ')
		}
		if r == '_' || r == '-' || r == '.' || r == '/' {
			r = ' '
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// isVietnamese reports whether text is Vietnamese, with or without marks.
func isVietnamese(text string) bool {
	l := words()
	tokens := tokenize(text)
	score := 0
	english := func(t token) bool {
		return l.stopEnglish[t.bare] || len(l.english[t.bare]) > 0 || len(l.stems[t.stem]) > 0
	}
	for i, t := range tokens {
		if t.marked != t.bare && strings.ContainsAny(norm.NFC.String(t.raw), vietnameseLetters) {
			score += 3
		}
		switch known := l.markersBare[t.bare] || l.stopBare[t.bare] || len(l.bare[t.bare]) > 0; {
		case known && !english(t):
			score++
		case l.markersEnglish[t.bare]:
			score--
		}
		if i+1 < len(tokens) && len(l.bare[t.bare+" "+tokens[i+1].bare]) > 0 {
			score += 2
		}
	}
	return score > 0
}

// vietnameseLetters are letters that few other languages have.
const vietnameseLetters = "ăđơưĂĐƠƯấầẩẫậắằẳẵặếềểễệốồổỗộớờởỡợứừửữựảẻỉỏủỷạẹịọụỵẽĩũỹàèìòùáéíóúêôâ"

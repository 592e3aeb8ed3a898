package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxMarks is how many combining marks a letter may have: no writing needs more, and more cover
	// the lines beside them.
	maxMarks = 4
	// maxBlanks is how many spaces in a row are shown: more push text out of sight.
	maxBlanks = 16
)

// Shown returns a text as a person must see it before they agree to it: each character that cannot
// be seen, that hides others or that looks like another is written as ‹U+200B›. These are characters
// that are no letters, marks, digits, signs or plain spaces; marks on anything but a letter; letters
// of the rarer script in a word of two; and forms of ASCII characters.
func Shown(s string) string {
	if isPlain(s) && !strings.ContainsFunc(s, unicode.IsControl) && !strings.Contains(s, strings.Repeat(" ", maxBlanks+1)) {
		return s
	}
	var b strings.Builder
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	strange := strangersIn(runes)
	marks, onLetter := 0, false
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if !unicode.Is(unicode.M, r) {
			marks, onLetter = 0, unicode.IsLetter(r)
		} else {
			marks++
		}
		switch {
		case r == ' ':
			n := 1
			for i+n < len(runes) && runes[i+n] == ' ' {
				n++
			}
			if n > maxBlanks {
				fmt.Fprintf(&b, "‹U+0020×%d›", n)
			} else {
				b.WriteString(strings.Repeat(" ", n))
			}
			i += n - 1
		case isUnseen(r), marks > 0 && (!onLetter || marks > maxMarks), strange[i], isForm(runes, i):
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isUnseen reports whether nothing of a character can be seen, or whether it covers others.
func isUnseen(r rune) bool {
	const brailleBlank = '\u2800' // a sign without any dot, which no property tells
	return !unicode.IsGraphic(r) || r == brailleBlank || unicode.IsSpace(r) && r != ' ' ||
		unicode.In(r, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Me)
}

// isForm reports whether the character is a form of an ASCII letter or digit, such as those of
// mathematics, or between two of them a form of a sign, such as a full-width slash.
func isForm(runes []rune, i int) bool {
	r := runes[i]
	if r <= unicode.MaxLatin1 {
		return false
	}
	plain := norm.NFKC.String(string(r))
	if len(plain) != 1 {
		return false
	}
	isWord := func(i int) bool {
		return i >= 0 && i < len(runes) && runes[i] < utf8.RuneSelf && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.Nd, r) || isWord(i-1) && isWord(i+1)
}

// strangersIn returns the positions of the letters that are of another script than most letters of
// their word.
func strangersIn(runes []rune) map[int]bool {
	strange := make(map[int]bool)
	var known scripts
	for from := 0; from < len(runes); from++ {
		of, count := make(map[int]string), make(map[string]int)
		to := from
		for ; to < len(runes) && isInWord(runes[to]); to++ {
			if name := known.of(runes[to]); name != "" {
				of[to] = name
				count[name]++
			}
		}
		if len(count) > 1 {
			main := latin
			for name, n := range count {
				if n > count[main] || n == count[main] && main != latin && name < main {
					main = name
				}
			}
			for at, name := range of {
				strange[at] = name != main && (!isBeside(name) || !isBeside(main))
			}
		}
		from = to
	}
	return strange
}

// isInWord reports whether a character continues a word as a reader sees it.
func isInWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) || r == '_' || r > unicode.MaxLatin1 && isUnseen(r) && !unicode.IsSpace(r)
}

const latin = "Latin"

// isBeside reports whether a script stands in one word with the others of this kind, as in Chinese,
// Japanese and Korean texts with Latin letters.
func isBeside(script string) bool {
	switch script {
	case latin, "Han", "Hiragana", "Katakana", "Bopomofo", "Hangul":
		return true
	}
	return false
}

// scripts finds the scripts of letters; most are of the same as the one before.
type scripts struct {
	name  string
	table *unicode.RangeTable
}

// of returns the script of a letter, "" for what is of all scripts.
func (s *scripts) of(r rune) string {
	switch {
	case unicode.Is(unicode.Latin, r):
		return latin
	case r < utf8.RuneSelf, unicode.In(r, unicode.Common, unicode.Inherited):
		return ""
	case s.table != nil && unicode.Is(s.table, r):
		return s.name
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			s.name, s.table = name, table
			return name
		}
	}
	return ""
}

// ShownJSON returns JSON on one line as [Shown] does. Escapes of what can be seen are undone,
// so that a text reads the same whoever wrote the JSON.
func ShownJSON(data string) string {
	var b strings.Builder
	inText := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inText = !inText
			b.WriteByte(c)
		case inText && c == '\\':
			text, n := unescaped(data[i:])
			b.WriteString(text)
			i += n - 1
		case !inText && strings.IndexByte(" \t\r\n", c) >= 0:
			if !strings.HasSuffix(b.String(), " ") {
				b.WriteByte(' ')
			}
		default:
			b.WriteByte(c)
		}
	}
	return Shown(strings.TrimSpace(b.String()))
}

// unescaped returns the character of the escape that a text begins with, and the length of the
// escape. One that JSON or the line needs is returned as it is.
func unescaped(s string) (text string, n int) {
	if strings.HasPrefix(s, `\/`) {
		return "/", len(`\/`)
	}
	r, n := escapedUnit(s)
	if n == 0 {
		n = min(len(`\n`), len(s))
		return s[:n], n
	}
	if utf16.IsSurrogate(r) {
		low, more := escapedUnit(s[n:])
		if r = utf16.DecodeRune(r, low); r == unicode.ReplacementChar {
			return s[:n], n
		}
		n += more
	}
	if r < ' ' || r == '"' || r == '\\' {
		return s[:n], n
	}
	return string(r), n
}

// escapedUnit returns the number in an escape like \u00e9, and the length of the escape; 0 for others.
func escapedUnit(s string) (unit rune, n int) {
	const length = len(`\u0000`)
	if len(s) < length || s[:2] != `\u` {
		return 0, 0
	}
	number, err := strconv.ParseUint(s[2:length], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(number), length
}

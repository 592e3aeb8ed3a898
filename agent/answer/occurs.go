package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Occurs reports whether an address stands in a text as a whole, and not as a part of a longer one.
func Occurs(text, address string) bool {
	for at := 0; address != ""; {
		i := strings.Index(text[at:], address)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(address)
		if (begin == 0 || !extends(rune(text[begin-1]))) && endsWithin(text[end:]) {
			return true
		}
		at = begin + 1
	}
	return false
}

// extends reports whether a character before an address would make it a part of a longer one.
func extends(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/.@%-_", r))
}

// endsWithin reports whether an address ends before this text, apart from marks after it.
func endsWithin(after string) bool {
	for _, r := range after {
		if !isPlainRune(r) && !strings.ContainsRune("()[]'*!&$", r) {
			return true
		}
		if !strings.ContainsRune(around, r) {
			return false
		}
	}
	return true
}

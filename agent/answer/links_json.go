package answer

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addressLeftOut stands for an address in a JSON value.
const addressLeftOut = "[…]"

// JSON is Pass for a JSON value: an address that may not be live is left out of its string.
func (l *Links) JSON(text string) string {
	if l == nil {
		return text
	}
	l.json = true
	text = l.line.String() + text
	l.line.Reset()
	if !l.private() {
		return text
	}
	var out strings.Builder
	for {
		begin := strings.IndexByte(text, '"')
		if begin < 0 {
			return out.String() + text
		}
		out.WriteString(text[:begin])
		n := literal(text[begin:])
		if n < 0 {
			l.line.WriteString(text[begin:])
			return out.String()
		}
		whole := text[begin : begin+n]
		text = text[begin+n:]
		var value string
		if json.Unmarshal([]byte(whole), &value) != nil {
			value = whole
		}
		if clean := l.withoutAddresses(value); clean != value {
			quoted, _ := json.Marshal(clean) //nolint:errchkjson // a string
			whole = string(quoted)
		}
		out.WriteString(whole)
	}
}

// literal returns the length of the JSON string that begins a text, or -1 while it is open.
func literal(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// withoutAddresses returns a text without the addresses that may not be live.
func (l *Links) withoutAddresses(text string) string {
	var out strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, unicode.IsSpace)
		if n < 0 {
			n = len(text)
		}
		word := text[:n]
		for i := range word {
			if !bareSign(word, i, false) {
				continue
			}
			if !l.liveWithin(word[i:], around) {
				word = word[:i] + addressLeftOut + word[len(strings.TrimRight(word, around)):]
			}
			break
		}
		out.WriteString(word)
		if n < len(text) {
			_, size := utf8.DecodeRuneInString(text[n:])
			out.WriteString(text[n : n+size])
			n += size
		}
		text = text[n:]
	}
	return out.String()
}

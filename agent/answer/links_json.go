package answer

import (
	"encoding/json"
	"regexp"
	"strings"
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
	at := 0
	for _, found := range jsonString.FindAllStringIndex(text, -1) {
		begin, end := found[0], found[1]
		out.WriteString(text[at:begin] + l.cleanString(text[begin:end]))
		at = end
	}
	rest, _, _ := strings.Cut(text[at:], `"`)
	l.line.WriteString(text[at+len(rest):]) // a string that is still open
	return out.String() + rest
}

// jsonString matches a string of JSON that has ended.
var jsonString = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"`)

// cleanString returns a string of JSON without the addresses that may not be live.
func (l *Links) cleanString(quoted string) string {
	var value string
	if json.Unmarshal([]byte(quoted), &value) != nil {
		value = quoted
	}
	clean := l.withoutAddresses(value)
	if clean == value {
		return quoted
	}
	again, _ := json.Marshal(clean) //nolint:errchkjson // a string
	return string(again)
}

// spacedWord matches what stands between white space.
var spacedWord = regexp.MustCompile(`[^\pZ\t\n\v\f\r\x{85}]+`)

// withoutAddresses returns a text without the addresses that may not be live.
func (l *Links) withoutAddresses(text string) string {
	return spacedWord.ReplaceAllStringFunc(text, func(word string) string {
		for i := range word {
			if !bareSign(word, i, false) {
				continue
			}
			if l.liveWithin(word[i:], around) {
				return word
			}
			return word[:i] + addressLeftOut + word[len(strings.TrimRight(word, around)):]
		}
		return word
	})
}

package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// EscapeInvisible escapes, as JSON does, the characters of a text that are invisible or change the
// direction of the text: a person must see the text that they approve.
func EscapeInvisible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if !unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Seen writes out, as JSON does, what of a text is not seen or turns the order of what is: who
// agrees to a text must see it as it is.
func Seen(s string) string {
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

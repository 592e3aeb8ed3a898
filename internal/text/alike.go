package text

import "strings"

// LookAlike returns the Latin letter that a Cyrillic or Greek one is taken for; other letters as they are.
func LookAlike(r rune) rune {
	const from = "аеорсухіјѕԁһкмтвнАЕОРСУХІЈЅКМТВНαεορυνικτΑΕΟΡΥΝΙΚΤ"
	const to = "aeopcyxijsdhkmtbhAEOPCYXIJSKMTBHaeopuvikTAEOPYNIKT"
	if r < 0x370 || r > 0x52F {
		return r
	}
	if i := strings.IndexRune(from, r); i >= 0 {
		return rune(to[i/2]) // each of from has two bytes
	}
	return r
}

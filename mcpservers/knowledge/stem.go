package knowledge

import (
	"strings"

	"molar/internal/text"
)

// endings are English endings that make another word of the same family, the longest first, with what
// takes their place, and the least length of what stands before.
var endings = []struct {
	ending, instead string
	least           int
}{
	{"isation", "iz", 3},
	{"ization", "iz", 3},
	{"ification", "if", 3},
	{"ational", "", 4},
	{"fulness", "", 4},
	{"ation", "", 4},
	{"ition", "", 4},
	{"ement", "", 4},
	{"ment", "", 4},
	{"ness", "", 4},
	{"able", "", 4},
	{"ible", "", 4},
	{"ance", "", 4},
	{"ence", "", 4},
	{"tion", "t", 4},
	{"sion", "s", 3},
	{"ical", "ic", 3},
	{"ally", "", 4},
	{"our", "or", 2},
	{"ful", "", 4},
	{"ly", "", 4},
	{"al", "", 5},
	{"er", "", 5},
	{"or", "", 5},
	{"is", "iz", 4},
	{"ys", "yz", 3},
}

// stem returns what English words of one family have in common: "configuration", "configured" and
// "configures", or "colour" and "color".
func stem(w string) string {
	s := text.Stem(w)
	switch { // a plural has the stem of its singular
	case s+"s" == w:
		s = text.Stem(s)
	case strings.HasSuffix(w, "ie") && len(s) > 3: // movie
		s = strings.TrimSuffix(s, "i")
	}
	for _, e := range endings {
		if base, ok := strings.CutSuffix(s, e.ending); ok && len(base) >= e.least {
			return strings.TrimSuffix(base+e.instead, "e")
		}
		// text.Stem has cut the last letter off some.
		if cut := strings.TrimRight(e.ending, "ey"); cut != e.ending && strings.HasSuffix(w, e.ending) {
			if base, ok := strings.CutSuffix(s, cut); ok && len(base) >= e.least {
				return strings.TrimSuffix(base+e.instead, "e")
			}
		}
	}
	return s
}

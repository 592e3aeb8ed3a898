package language

import "strings"

// isSyllable reports whether the folded word could be one Vietnamese syllable
// without its marks. Many short English words could ("can", "long", "hot"), so it
// is a hint, not a verdict.
func isSyllable(word string) bool {
	if len(word) > 7 {
		return false
	}
	if isRime(word) {
		return true
	}
	// The onset is at most three letters; every split is tried.
	for n := 1; n <= 3 && n < len(word); n++ {
		if isOnset(word[:n]) && isRime(word[n:]) {
			return true
		}
	}
	// In "gì" and "giếng" the i of the onset is the vowel as well.
	rest, ok := strings.CutPrefix(word, "g")
	return ok && strings.HasPrefix(rest, "i") && isRime(rest)
}

// isOnset knows the consonants that a Vietnamese syllable can begin with.
func isOnset(s string) bool {
	switch s {
	case "ngh", "ng", "nh", "ch", "gh", "gi", "kh", "ph", "qu", "th", "tr", "b", "c", "d", "g", "h",
		"k", "l", "m", "n", "p", "r", "s", "t", "v", "x":
		return true
	}
	return false
}

// isRime knows what can follow the onset.
func isRime(s string) bool {
	switch s {
	case "a", "ac", "ach", "ai", "am", "an", "ang", "anh", "ao", "ap", "at", "au", "ay", "e", "ec",
		"ech", "em", "en", "eng", "enh", "eo", "ep", "et", "eu", "i", "ia", "ich", "iec", "iem",
		"ien", "ieng", "iep", "iet", "ieu", "im", "in", "inh", "ip", "it", "iu", "o", "oa", "oac",
		"oach", "oai", "oam", "oan", "oang", "oanh", "oao", "oap", "oat", "oay", "oc", "oe", "oen",
		"oeo", "oet", "oi", "om", "on", "ong", "ooc", "oong", "op", "ot", "u", "ua", "uan", "uang",
		"uat", "uay", "ue", "uech", "uenh", "ui", "um", "un", "ung", "uoc", "uoi", "uom", "uon",
		"uong", "uop", "uot", "uou", "up", "ut", "uu", "uc", "uo", "uy", "uya", "uych", "uyen",
		"uyet", "uynh", "uyt", "uyu", "y", "yem", "yen", "yet", "yeu":
		return true
	}
	return false
}

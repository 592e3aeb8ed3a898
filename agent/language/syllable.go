package language

import "strings"

// isSyllable reports whether the folded word could be one Vietnamese syllable
// without its marks. Many short English words could ("can", "long", "hot"), so it
// is a hint, not a verdict.
func isSyllable(word string) bool {
	const vowels, most = "aeiouy", 3
	rime := strings.TrimLeftFunc(word, func(r rune) bool { return !strings.ContainsRune(vowels, r) })
	coda := strings.TrimLeft(rime, vowels)
	n := len(rime) - len(coda)
	return n > 0 && n <= most && isOnset(strings.TrimSuffix(word, rime)) && isCoda(coda)
}

// isOnset knows the consonants that a Vietnamese syllable can begin with.
func isOnset(s string) bool {
	switch s {
	case "", "ngh", "ng", "nh", "ch", "gh", "kh", "ph", "q", "th", "tr", "b", "c", "d", "g", "h",
		"k", "l", "m", "n", "p", "r", "s", "t", "v", "x":
		return true
	}
	return false
}

// isCoda knows what it can end with behind its vowels.
func isCoda(s string) bool {
	switch s {
	case "", "c", "ch", "m", "n", "ng", "nh", "p", "t":
		return true
	}
	return false
}

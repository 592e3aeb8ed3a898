package guardrail

// Words from this length on are recognised with one typing mistake.
const nearLength = 6

// nearly returns the tier of a one-word phrase from which the word differs by one
// letter, the first not counted: "toothpast", "hallitosis".
func (l *lexicon) nearly(w word) tier {
	if len(w.folded) < nearLength-1 {
		return tierNone
	}
	if t := l.near[hashWithout(w.folded, -1)]; t != tierNone {
		return t
	}
	for i := 1; i < len(w.folded); i++ {
		if t := l.near[hashWithout(w.folded, i)]; t != tierNone {
			return t
		}
	}
	return tierNone
}

// addNear enters a word and all its forms with one letter left out.
func (l *lexicon) addNear(t tier, folded string) {
	if len(folded) < nearLength {
		return
	}
	for i := range len(folded) {
		at := i
		if i == 0 {
			at = -1 // the first letter always counts; here the word stands as it is
		}
		if h := hashWithout(folded, at); l.near[h] == tierNone {
			l.near[h] = t
		}
	}
}

// hashWithout is the hash of s without the byte at i.
func hashWithout(s string, i int) uint32 {
	h := uint32(hashOffset)
	for k := range len(s) {
		if k != i {
			h = hashByte(h, s[k])
		}
	}
	return h
}

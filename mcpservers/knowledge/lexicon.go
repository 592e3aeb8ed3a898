package knowledge

import "hash/maphash"

// A lexicon numbers strings in the order in which they are added. It takes less than half the memory of a
// map, and holds no pointers that a garbage collector must follow.
type lexicon struct {
	seed  maphash.Seed
	bytes []byte   // of all strings, one after the other
	ends  []uint32 // of each string
	slots []uint32 // numbers plus one, by hash; 0 is free
}

func newLexicon() lexicon {
	return lexicon{seed: maphash.MakeSeed(), slots: make([]uint32, 64)}
}

func (l *lexicon) size() int { return len(l.ends) }

// at returns the string of a number.
func (l *lexicon) at(n uint32) string { return string(l.span(n)) }

func (l *lexicon) span(n uint32) []byte {
	from := uint32(0)
	if n > 0 {
		from = l.ends[n-1]
	}
	return l.bytes[from:l.ends[n]]
}

// number returns the number of a string.
func (l *lexicon) number(s string) (n uint32, known bool) {
	n, _ = l.find(s)
	return n, n != none
}

// add returns the number of a string, a new one if it is unknown.
func (l *lexicon) add(s string) (n uint32, known bool) {
	n, slot := l.find(s)
	if n != none {
		return n, true
	}
	n = uint32(len(l.ends)) //nolint:gosec // memory ends long before
	l.bytes = append(l.bytes, s...)
	l.ends = append(l.ends, uint32(len(l.bytes))) //nolint:gosec // memory ends long before
	l.slots[slot] = n + 1
	if len(l.ends)*4 > len(l.slots)*3 {
		l.grow()
	}
	return n, false
}

// find returns the number of a string, or none and the slot where it belongs.
func (l *lexicon) find(s string) (n, slot uint32) {
	mask := uint32(len(l.slots) - 1)                //nolint:gosec // a power of two
	slot = uint32(maphash.String(l.seed, s)) & mask //nolint:gosec // the low half suffices
	for l.slots[slot] != 0 {
		if n = l.slots[slot] - 1; string(l.span(n)) == s {
			return n, slot
		}
		slot = (slot + 1) & mask
	}
	return none, slot
}

func (l *lexicon) grow() {
	l.slots = make([]uint32, 2*len(l.slots))
	mask := uint32(len(l.slots) - 1)     //nolint:gosec // a power of two
	for n := range uint32(len(l.ends)) { //nolint:gosec // as above
		slot := uint32(maphash.Bytes(l.seed, l.span(n))) & mask //nolint:gosec // the low half suffices
		for l.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		l.slots[slot] = n + 1
	}
}

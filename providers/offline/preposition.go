package offline

import "slices"

// A preposition groups words by what they say of the value that follows.
type preposition string

const (
	prepNone  preposition = ""
	prepFrom  preposition = "from"
	prepTo    preposition = "to"
	prepIn    preposition = "in"
	prepBy    preposition = "by"
	prepFor   preposition = "for"
	prepWith  preposition = "with"
	prepAbout preposition = "about"
)

// prepositionAt returns the preposition that the token at i is.
func (q *question) prepositionAt(i int) preposition { return q.prepositions[i] }

func (q *question) readPreposition(t token) preposition {
	if q.vietnamese {
		if p := vietnamesePreposition(t, q.book.hasMarks); p != prepNone {
			return p
		}
	}
	switch t.bare {
	case "from", "since", "starting", "between":
		return prepFrom
	case "to", "into", "until", "till", "as", "onto":
		return prepTo
	case "in", "at", "near", "around", "inside", "under", "within":
		return prepIn
	case "by":
		return prepBy
	case "for", "of":
		return prepFor
	case "with":
		return prepWith
	case "about", "on", "regarding", "containing", "mentioning":
		return prepAbout
	}
	return prepNone
}

func vietnamesePreposition(t token, marks bool) preposition {
	w := t.bare
	if marks {
		w = t.marked
	}
	is := func(list ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool {
			if marks {
				return canonical(s) == w
			}
			return fold(s) == w
		})
	}
	switch {
	case is("từ"):
		return prepFrom
	case is("đến", "tới", "sang", "thành"), marks && is("ra"):
		return prepTo
	case is("ở", "tại", "trong", "gần"):
		return prepIn
	case is("bởi"):
		return prepBy
	case is("cho", "của"):
		return prepFor
	case is("với"):
		return prepWith
	case is("về", "chứa"):
		return prepAbout
	}
	return prepNone
}

// before returns the preposition that governs the token at i: the nearest within
// three words, no value between.
func (q *question) before(i int) preposition {
	for d := 1; d <= 3 && i-d >= 0; d++ {
		if q.owner[i-d] >= 0 && !q.mentions[q.owner[i-d]].weak {
			return prepNone
		}
		if p := q.prepositionAt(i - d); p != prepNone {
			return p
		}
		if q.tokens[i-d].breaks {
			return prepNone
		}
	}
	return prepNone
}

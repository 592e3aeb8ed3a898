package emergency

import (
	"iter"
	"slices"
)

// A sign is something that a person may describe.
type sign int

const (
	breath   sign = iota // trouble breathing
	swallow              // trouble swallowing
	spread               // a swelling that spreads to the neck or an eye
	bleed                // bleeding that does not stop
	much                 // a lot of blood
	jaw                  // an injured jaw or face
	tooth                // a tooth that was knocked out
	toothOut             // a tooth that came out, in whatever way
	force                // a fall, a blow, an accident
	swelling
	fever
	signs
)

// passes says whether the sign can be over; a tooth that is gone is gone.
func (s sign) passes() bool {
	switch s {
	case jaw, tooth, toothOut, force:
		return false
	}
	return true
}

// signsSeen are the signs that a message describes as being there now.
type signsSeen [signs]bool

func (s signsSeen) all() iter.Seq[bool] { return slices.Values(s[:]) }

// read finds the signs of a message.
func (d *Detector) read(text string) signsSeen {
	tokens := split(text)
	var seen signsSeen
	for s := range signs {
		for i := 0; i < len(tokens) && !seen[s]; i++ {
			end := d.signs[s].longest(tokens, i)
			if end < 0 {
				continue
			}
			seen[s] = !d.isExcluded(s, tokens, i, end) && d.isMeant(s, tokens, i, end)
		}
	}
	return seen
}

// isExcluded says whether the words around a sign give it another sense: a sauce that
// is called like a fever, gums that bleed under the brush.
func (d *Detector) isExcluded(s sign, tokens []token, start, end int) bool {
	if len(d.excluded[s]) == 0 {
		return false
	}
	from, to := sentence(tokens, start, end)
	return d.excluded[s].within(tokens[from:to])
}

// isMeant says whether the sign at tokens[start:end] is said to be there now: not
// denied, supposed, asked about in general, over or long past.
func (d *Detector) isMeant(s sign, tokens []token, start, end int) bool {
	from, to := sentence(tokens, start, end)
	first, last := clause(tokens, start, end)
	now := d.cues[present].within(tokens[first:last])
	switch {
	case d.denied(tokens[from:start]), d.askedWhether(tokens, start, end):
		return false
	case s.passes() && d.cues[over].within(tokens[end:to]):
		return false
	case !s.passes() && d.cues[past].within(tokens[first:last]): // lost last year, and still gone now
		return false
	case now:
		return true
	case d.cues[past].within(tokens[from:to]), d.cues[supposed].within(tokens[from:start]):
		return false
	}
	return d.cues[person].within(tokens[from:to]) || !d.cues[general].within(tokens[from:to])
}

// denied walks back from a sign over words that may stand between it and a denial.
func (d *Detector) denied(before []token) bool {
	for _, b := range slices.Backward(before) {
		t := []token{b}
		if d.cues[denial].within(t) {
			return true
		}
		if !d.cues[between].within(t) {
			return false
		}
	}
	return false
}

// askedWhether knows the Vietnamese question that stands around its verb: "có sốt
// không" asks whether there is a fever.
func (d *Detector) askedWhether(tokens []token, start, end int) bool {
	asks := false
	for i := start - 1; i >= 0 && i >= start-3 && !tokens[i].isEnd(); i-- {
		asks = asks || d.cues[whether].within(tokens[i:i+1])
	}
	if !asks {
		return false
	}
	for i := end; i < len(tokens) && i < end+4 && !tokens[i].isEnd(); i++ {
		if d.cues[questionEnd].within(tokens[i : i+1]) {
			return i+1 == len(tokens) || tokens[i+1].isEnd() || d.cues[particle].within(tokens[i+1:i+2])
		}
	}
	return false
}

// sentence returns the borders of the sentence around tokens[start:end].
func sentence(tokens []token, start, end int) (from, to int) {
	return around(tokens, start, end, func(t token) bool { return t.word == sentenceEnd })
}

// clause returns the borders of the clause around tokens[start:end].
func clause(tokens []token, start, end int) (from, to int) {
	return around(tokens, start, end, token.isEnd)
}

func around(tokens []token, start, end int, border func(token) bool) (from, to int) {
	for from = start; from > 0 && !border(tokens[from-1]); from-- {
	}
	for to = end; to < len(tokens) && !border(tokens[to]); to++ {
	}
	return from, to
}

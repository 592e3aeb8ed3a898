package subject

import "molar/internal/text"

// A sign is something that a person may describe.
type sign struct {
	name            string
	phrases, unless *text.Phrases
	lasts           bool // it cannot be over
	describes       bool // it is in a set of a kind; others only choose between kinds
}

// read returns the words of a message, and which signs it describes as present now.
func (d *Detector) read(message string) ([]text.Word, map[string]bool) {
	if len(message) > 2*maxBytes { // both ends
		message = message[:maxBytes] + "\n" + message[len(message)-maxBytes:]
	}
	words := text.Words(message)
	seen := make(map[string]bool)
	for _, s := range d.signs {
		for i := 0; i < len(words) && !seen[s.name]; i++ {
			if end := i + s.phrases.At(words, i); end > i && d.isMeant(s, words, i, end) {
				seen[s.name] = true
			}
		}
	}
	return words, seen
}

// isMeant reports whether the sign at words[start:end] is described as present now: not denied,
// supposed, asked about in general, over or long past.
func (d *Detector) isMeant(s sign, words []text.Word, start, end int) bool {
	from, to := around(words, start, end, text.SentencePause)
	first, last := around(words, start, end, text.ClausePause)
	now := d.cues["present"].In(words[first:last])
	switch {
	case s.unless.In(words[from:to]): // another sense: a sauce named like a fever
		return false
	case d.denied(words, start), d.askedWhether(words, start, end):
		return false
	case !s.lasts && d.cues["over"].In(words[end:to]):
		return false
	case s.lasts && d.cues["past"].In(words[first:last]): // lost last year, and still gone now
		return false
	case now:
		return true
	case d.cues["past"].In(words[from:to]), d.cues["supposed"].In(words[from:start]):
		return false
	}
	return d.cues["person"].In(words[from:to]) || !d.cues["general"].In(words[from:to])
}

// denied reports whether a sign is denied, looking back over words that may separate it from a
// denial.
func (d *Detector) denied(words []text.Word, start int) bool {
	for i := start - 1; i >= 0 && words[i+1].Pause == text.NoPause; i-- {
		if d.cues["denial"].At(words, i) > 0 {
			return true
		}
		if d.cues["between"].At(words, i) == 0 {
			return false
		}
	}
	return false
}

// askedWhether reports whether the Vietnamese question words enclose the sign: "có sốt không" asks
// whether there is a fever.
func (d *Detector) askedWhether(words []text.Word, start, end int) bool {
	asks := false
	for i := start - 1; i >= 0 && i >= start-3 && words[i+1].Pause == text.NoPause; i-- {
		asks = asks || d.cues["whether"].At(words, i) > 0
	}
	if !asks {
		return false
	}
	for i := end; i < len(words) && i < end+4 && words[i].Pause == text.NoPause; i++ {
		if d.cues["question end"].At(words, i) > 0 {
			return i+1 == len(words) || words[i+1].Pause != text.NoPause || d.cues["particle"].At(words, i+1) > 0
		}
	}
	return false
}

// around returns the bounds of the sentence or clause around words[start:end].
func around(words []text.Word, start, end int, border text.Pause) (from, to int) {
	for from = start; from > 0 && words[from].Pause < border; from-- {
	}
	for to = end; to < len(words) && words[to].Pause < border; to++ {
	}
	return from, to
}

package answer

import (
	"strings"
	"unicode/utf8"

	"molar/internal/text"
)

// Sizes of what a watch reads at once, in characters: sentences are also read together once they have
// readTogether, a doubtful beginning shorter than fewCharacters is read with what follows, a sentence without an end is read at longestSentence, and doubtful text is held back in the
// first heldText of an answer.
const (
	readTogether    = 200
	longestSentence = 400
	heldText        = 200
	fewCharacters   = 30
)

// A Look is the guardrail's judgement of a part of an answer.
type Look struct {
	// Score is the higher the likelier the part keeps to the subject.
	Score float64
	// Strayed means that the part is in doubt, Sure that it has hardly ever kept to the subject.
	Strayed, Sure bool
}

// A Watch checks sentence by sentence whether an answer left its subject. It ends no answer by
// itself: where it doubts, it asks. Text is shown as it arrives; only doubtful text at the beginning is
// held back until it is settled, and each sentence once a text that was read may have led the answer away. A nil or unarmed Watch lets everything pass.
type Watch struct {
	look func(part, before string) Look
	ask  func(part string, score float64) error
	led  func() bool // nil if nothing leads
	// armed starts the checks; an urgent watch doubts only what is sure to have strayed.
	armed, urgent bool

	open  string // the sentence that has not ended
	shown int    // how many bytes of it are shown
	held  string // the sentences that are shown once the judge has read them
	last  string // the sentence before it
	block string // the sentences since the last ones that were read together or asked about
	seen  int    // characters of the sentences that have ended
	// due is set if a sentence of the block is in doubt, with this score. The first doubt is asked about at
	// once, later ones together with the block.
	due, asked bool
	score      float64
}

// NewWatch returns a watch. look judges a part of an answer, which follows the sentence before. The
// watch calls ask for a doubtful part: an error ends the answer, nil lets it continue.
func NewWatch(look func(part, before string) Look, ask func(part string, score float64) error) *Watch {
	return &Watch{look: look, ask: ask}
}

// Mind lets the watch ask about every sentence, and hold it until then, from when led reports that what was
// read may have led the answer away.
func (w *Watch) Mind(led func() bool) { w.led = led }

// isLed reports whether no sentence may be shown before the judge has read it.
func (w *Watch) isLed() bool { return w.led != nil && !w.urgent && w.led() }

// Arm starts the checks: the model reads text that the person did not write.
func (w *Watch) Arm() {
	if w != nil {
		w.armed = true
	}
}

// Urge arms the watch so that it doubts only text that has surely strayed.
func (w *Watch) Urge() {
	if w != nil {
		w.armed, w.urgent = true, true
	}
}

// Pass returns the text that may be shown after the next piece, also with an error: first what is not in
// doubt, then the beginning of a sentence that is not checked yet.
func (w *Watch) Pass(piece string) (sound, rest string, err error) {
	if w == nil || !w.armed {
		return "", piece, nil
	}
	w.open += piece
	for n := w.sentenceEnd(); n > 0; n = w.sentenceEnd() {
		passed, err := w.end(n)
		if sound += passed; err != nil {
			return sound, "", err
		}
	}
	if w.isLed() {
		return sound, "", nil
	}
	rest = w.open[w.shown:]
	if w.seen+utf8.RuneCountInString(w.open) < heldText {
		if _, doubt := w.doubts(w.open, w.last); doubt {
			return sound, "", nil
		}
		sound, rest = sound+rest, ""
	}
	w.shown = len(w.open)
	return sound, rest, nil
}

// sentenceEnd returns the length of the first sentence of the open text, zero if it has not ended. A few doubtful
// words with nothing before them are read with the sentence behind them.
func (w *Watch) sentenceEnd() int {
	n := text.SentenceEnd(w.open)
	for n > 0 && w.last == "" && utf8.RuneCountInString(w.open[:n]) < fewCharacters {
		if _, doubt := w.doubts(w.open[:n], ""); !doubt {
			break
		}
		more := text.SentenceEnd(w.open[n:])
		if more == 0 {
			n = 0
			break
		}
		n += more
	}
	if n == 0 && utf8.RuneCountInString(w.open) >= longestSentence {
		return len(w.open)
	}
	return n
}

// Rest checks the remaining text, and returns the text that may be shown, also with an error. The next text
// counts as a beginning again.
func (w *Watch) Rest() (show string, err error) {
	if w == nil || !w.armed {
		return "", nil
	}
	defer func() { w.last, w.block, w.held, w.seen, w.due = "", "", "", 0, false }()
	if w.open != "" {
		show, err = w.end(len(w.open))
	}
	if err == nil && w.block != "" {
		err = w.together()
	}
	if err != nil {
		return show, err
	}
	return show + w.held, nil
}

// doubts reports whether a text seems to have left the subject, with its score.
func (w *Watch) doubts(part, before string) (score float64, doubt bool) {
	judged := w.look(part, before)
	return judged.Score, judged.Sure || judged.Strayed && !w.urgent
}

// end checks the first n bytes of the open sentence, and returns what may be shown now.
func (w *Watch) end(n int) (show string, err error) {
	sentence, before, led := w.open[:n], w.last, w.isLed()
	w.held += sentence[min(w.shown, n):]
	w.open, w.last = w.open[n:], sentence
	w.shown = max(w.shown-n, 0)
	w.seen += utf8.RuneCountInString(sentence)
	w.block += sentence
	if strings.TrimSpace(sentence) == "" {
		w.last = before
	} else {
		score, doubt := w.doubts(sentence, before)
		if doubt {
			w.last = ""
		}
		if doubt || led {
			w.due, w.score = true, score
		}
		if w.due && !w.asked || utf8.RuneCountInString(w.block) >= readTogether {
			if err := w.together(); err != nil {
				return "", err
			}
		}
	}
	if led && strings.TrimSpace(w.block) != "" {
		return "", nil
	}
	show, w.held = w.held, ""
	return show, nil
}

// together checks the sentences since the last check as one text, and asks about them if one of them or all
// together are in doubt.
func (w *Watch) together() error {
	part, score, doubt := w.block, w.score, w.due
	w.block, w.due = "", false
	if !doubt {
		score, doubt = w.doubts(part, "")
	}
	if !doubt {
		return nil
	}
	w.asked = true
	return w.ask(part, score)
}

package answer

import (
	"strings"
	"unicode/utf8"
)

// Sizes of a block of an answer, in characters: from strayBlock it ends at the next sentence end,
// and at strayMost in any case.
const (
	strayBlock = 200
	strayMost  = 400
)

// A Look is the guardrail's judgement of a part of an answer.
type Look struct {
	// Score is above zero for the subject.
	Score float64
	// Strayed is the likelier judgement, Sure one that is hardly ever wrong.
	Strayed, Sure bool
}

// A Watch checks block by block whether an answer left its subject, as the guardrail checks a
// question. It ends no answer by itself: where it doubts, it asks. Text is shown as it arrives;
// only doubtful text of the first block is held back until it is settled. A nil or unarmed Watch
// lets everything pass.
type Watch struct {
	look func(text string) Look
	ask  func(part string, score float64) error
	// armed starts the checks; an urgent watch doubts only what is sure to have strayed.
	armed, urgent bool

	block strings.Builder
	begun bool   // the first block has passed
	shown int    // bytes of the first block already shown
	last  string // the previous block, unless it was asked about
}

// NewWatch returns a watch. It calls ask for a doubtful part: an error ends the answer, nil lets it
// continue.
func NewWatch(look func(text string) Look, ask func(part string, score float64) error) *Watch {
	return &Watch{look: look, ask: ask}
}

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

// Pass returns the text that may be shown after the next piece. settled reports that nothing up to
// its end is in doubt.
func (w *Watch) Pass(text string) (show string, settled bool, err error) {
	if w == nil || !w.armed {
		return text, false, nil
	}
	w.block.WriteString(text)
	n := utf8.RuneCountInString(w.block.String())
	full := n >= strayMost || n >= strayBlock && endsSentence(w.block.String())
	switch {
	case !w.begun && !full:
		text, settled = w.partial()
		return text, settled, nil
	case !w.begun:
		text, err = w.checkFirst()
		return text, err == nil, err
	case !full:
		return text, false, nil
	}
	if err := w.checkNext(w.block.String()); err != nil {
		return "", false, err
	}
	return text, true, nil
}

// Rest checks the remaining text, and returns the text that may be shown. The next text counts as a
// first block again.
func (w *Watch) Rest() (string, error) {
	if w == nil || !w.armed {
		return "", nil
	}
	defer func() { w.begun, w.last = false, "" }()
	switch {
	case w.begun: // with the previous block, as it may be too short alone
		return "", w.checkNext(w.last + w.block.String())
	case strings.TrimSpace(w.block.String()) == "":
		return "", nil
	}
	return w.checkFirst()
}

// doubts reports whether a text seems to have left the subject, with its score.
func (w *Watch) doubts(text string) (score float64, doubt bool) {
	judged := w.look(text)
	return judged.Score, judged.Sure || judged.Strayed && !w.urgent
}

// partial returns the text to show of a first block that is not full: all of it, or nothing more
// while it is in doubt.
func (w *Watch) partial() (show string, settled bool) {
	text := w.block.String()
	if _, doubt := w.doubts(text); doubt {
		return "", false
	}
	show, w.shown = text[w.shown:], len(text)
	return show, true
}

// checkFirst checks the first block.
func (w *Watch) checkFirst() (string, error) {
	text, shown := w.block.String(), w.shown
	w.block.Reset()
	w.shown = 0
	if score, doubt := w.doubts(text); doubt {
		if err := w.ask(text, score); err != nil {
			return "", err
		}
	}
	w.begun = true
	return text[shown:], nil
}

// checkNext checks a later block.
func (w *Watch) checkNext(block string) error {
	w.last = w.block.String()
	w.block.Reset()
	score, doubt := w.doubts(block)
	if !doubt {
		return nil
	}
	w.last = ""
	return w.ask(block, score)
}

func endsSentence(text string) bool {
	text = strings.TrimRight(text, " *_)\"'”")
	return text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:\n") || strings.HasSuffix(text, "…")
}

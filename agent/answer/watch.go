package answer

import (
	"strings"
	"unicode/utf8"
)

// Sizes of a block of an answer, in characters: from strayBlock on it ends with a sentence, at
// strayMost it ends anyway.
const (
	strayBlock = 200
	strayMost  = 400
)

// A Look is what the guardrail makes of a part of an answer.
type Look struct {
	// Score is above zero for the subject.
	Score float64
	// Strayed is the better guess, Sure one that is hardly ever wrong.
	Strayed, Sure bool
}

// A Watch looks at an answer that may have been talked out of its subject, block by block, as
// the guardrail looks at a question. It ends no answer by itself: where it doubts, it asks. Text is
// shown as it arrives; of the first block what is in doubt is held until that is settled. A nil
// Watch, and one that was not armed, lets everything pass.
type Watch struct {
	look func(text string) Look
	ask  func(part string, score float64) error
	// armed is set once there is a reason to look; an urgent watch doubts only what is sure.
	armed, urgent bool

	block strings.Builder
	begun bool   // the first block has passed
	shown int    // so many bytes of the first block are shown already
	last  string // the block before, unless it was asked about
}

// NewWatch returns a watch. ask says whether a doubtful part really left the subject: its error ends
// the answer, nil lets it go on.
func NewWatch(look func(text string) Look, ask func(part string, score float64) error) *Watch {
	return &Watch{look: look, ask: ask}
}

// Arm begins the watch: the model reads what the person did not write.
func (w *Watch) Arm() {
	if w != nil {
		w.armed = true
	}
}

// Urge arms a watch that doubts only what is hardly ever wrong to doubt.
func (w *Watch) Urge() {
	if w != nil {
		w.armed, w.urgent = true, true
	}
}

// Pass returns what may be shown of the next piece of text. settled says that nothing up to its end
// is in doubt.
func (w *Watch) Pass(text string) (show string, settled bool, err error) {
	if w == nil || !w.armed {
		return text, false, nil
	}
	w.block.WriteString(text)
	n := utf8.RuneCountInString(w.block.String())
	full := n >= strayMost || n >= strayBlock && endsSentence(w.block.String())
	switch {
	case !w.begun && !full:
		text, settled = w.early()
		return text, settled, nil
	case !w.begun:
		text, err = w.begin()
		return text, err == nil, err
	case !full:
		return text, false, nil
	}
	if err := w.goOn(w.block.String()); err != nil {
		return "", false, err
	}
	return text, true, nil
}

// Rest looks at what is left, and returns what may be shown of it. What comes next is a new
// beginning.
func (w *Watch) Rest() (string, error) {
	if w == nil || !w.armed {
		return "", nil
	}
	defer func() { w.begun, w.last = false, "" }()
	switch {
	case w.begun: // with the block before, as it may be too little to tell by itself
		return "", w.goOn(w.last + w.block.String())
	case strings.TrimSpace(w.block.String()) == "":
		return "", nil
	}
	return w.begin()
}

// doubts reports whether a text seems to have left the subject, by its score.
func (w *Watch) doubts(text string) (score float64, doubt bool) {
	seen := w.look(text)
	return seen.Score, seen.Sure || seen.Strayed && !w.urgent
}

// early returns what may be shown of a first block that is not full: all of it, or nothing more
// while it is in doubt.
func (w *Watch) early() (show string, settled bool) {
	text := w.block.String()
	if _, doubt := w.doubts(text); doubt {
		return "", false
	}
	show, w.shown = text[w.shown:], len(text)
	return show, true
}

// begin looks at the first block.
func (w *Watch) begin() (string, error) {
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

// goOn looks at a later block.
func (w *Watch) goOn(block string) error {
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

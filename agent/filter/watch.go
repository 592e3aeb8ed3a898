package filter

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

// drift is how far below zero the scores of two blocks in a row come to in an answer that has
// left the subject, where neither block alone tells.
const drift = -1.6

// doubted is the score at which a later block is enough, where there is reason for doubt.
const doubted = -0.9

// A beginning is shown before the first block is full as far as it clearly keeps to the subject:
// so many words at least, with such a score.
const (
	clearWords = 6
	clearly    = 0.5
)

// A Look is what the guardrail makes of a part of an answer.
type Look struct {
	// Score is above zero for the subject.
	Score float64
	// Strayed is the better guess, Sure one that is hardly ever wrong.
	Strayed, Sure bool
}

// A Watch looks at an answer that may have been talked out of its subject, block by block, as
// the guardrail looks at a question. Of the first block only words that clearly keep to the
// subject are shown before the whole was looked at; later blocks are shown as they arrive. A nil
// Watch lets everything pass.
type Watch struct {
	look  func(text string) Look
	leave func(score float64, begun bool) error
	// strict goes by the better guess where a block is all that there is to tell by.
	strict bool

	block  strings.Builder
	begun  bool // the first block has passed
	shown  int  // so many bytes of the first block are shown already
	looked int  // so many words behind them were found unclear
	before Look
	last   string // the block before
}

// NewWatch returns a watch. leave makes the error of an answer that has left the subject; begun
// says that a part of it was shown.
func NewWatch(look func(text string) Look, leave func(score float64, begun bool) error) *Watch {
	return &Watch{look: look, leave: leave}
}

// Doubt makes the watch stricter: there is a reason to think that the answer strays.
func (w *Watch) Doubt() { w.strict = true }

// Pass returns what may be shown of the next piece of text. settled says that everything up to
// its end belongs to the subject.
func (w *Watch) Pass(text string) (show string, settled bool, err error) {
	if w == nil {
		return text, true, nil
	}
	w.block.WriteString(text)
	n := utf8.RuneCountInString(w.block.String())
	switch {
	case !w.begun && n < strayBlock:
		return w.early(), false, nil
	case !w.begun:
		text, err = w.begin(false)
		return text, err == nil, err
	case n < strayMost && (n < strayBlock || !endsSentence(w.block.String())):
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
	if w == nil {
		return "", nil
	}
	defer func() { w.begun, w.before, w.last = false, Look{}, "" }()
	switch {
	case w.begun && w.last != "" && w.block.Len() > 0: // too little to tell by itself
		return "", w.goOn(w.last + w.block.String())
	case w.begun:
		return "", w.goOn(w.block.String())
	case strings.TrimSpace(w.block.String()) == "":
		return "", nil
	}
	return w.begin(true)
}

// begin looks at the first block; whole says that it is all of the answer.
func (w *Watch) begin(whole bool) (string, error) {
	text, shown := w.block.String(), w.shown
	w.block.Reset()
	w.shown, w.looked = 0, 0
	seen := w.look(text)
	if seen.Sure || seen.Strayed && (whole || w.strict) {
		return "", w.leave(seen.Score, shown > 0)
	}
	w.begun, w.before = true, seen
	return text[shown:], nil
}

// early returns what may be shown of a first block that is not full: the words behind what was
// shown, once they clearly keep to the subject by themselves. Where there is reason for doubt
// nothing is.
func (w *Watch) early() string {
	held := w.block.String()[w.shown:]
	held = held[:strings.LastIndexAny(held, " \n")+1]
	words := len(strings.Fields(held))
	if w.strict || words < w.looked+clearWords {
		return ""
	}
	w.looked = words
	if w.look(held).Score < clearly {
		return ""
	}
	w.shown += len(held)
	w.looked = 0
	return held
}

// goOn looks at a later block.
func (w *Watch) goOn(block string) error {
	seen := w.look(block)
	w.last = w.block.String()
	w.block.Reset()
	if seen.Sure || w.strict && seen.Score <= doubted || seen.Strayed && w.before.Strayed && seen.Score+w.before.Score <= drift {
		return w.leave(seen.Score, true)
	}
	w.before = seen
	return nil
}

func endsSentence(text string) bool {
	text = strings.TrimRight(text, " *_)\"'”")
	return text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:\n") || strings.HasSuffix(text, "…")
}

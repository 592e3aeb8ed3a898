package answer

import (
	"strings"
	"sync"

	"molar/internal/text"
)

// leftOut replaces a sentence that was left out of an answer.
const leftOut = "[…]"

// Sources are the texts in which the statements of an answer may stand. They are safe for concurrent use.
type Sources struct {
	claims func(text string) []string

	mu     sync.Mutex
	unread []string
	known  map[string]bool
}

// NewSources returns sources without any text. claims returns what a text states, each statement in one form.
func NewSources(claims func(text string) []string) *Sources {
	return &Sources{claims: claims, known: make(map[string]bool)}
}

// Add adds texts.
func (s *Sources) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = append(s.unread, texts...)
}

// say reports whether the sources say all that a text states.
func (s *Sources) say(text string) bool {
	claims := s.claims(text)
	if len(claims) == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, unread := range s.unread {
		for _, claim := range s.claims(unread) {
			s.known[claim] = true
		}
	}
	s.unread = nil
	for _, claim := range claims {
		if !s.known[claim] {
			return false
		}
	}
	return true
}

// A Sourced leaves the sentences out of an answer that state what no source says. Text is shown as it
// arrives, but for the rest of a sentence behind the beginning of a statement. A nil one lets everything pass.
type Sourced struct {
	sources *Sources
	// free returns the length of the beginning of a sentence that states nothing.
	free func(sentence string) int

	open   string // the sentence that has not ended
	shown  int    // how many bytes of it are shown
	marked bool   // nothing was shown since the last mark
	left   int
}

// NewSourced returns a filter by the sources.
func NewSourced(sources *Sources, free func(sentence string) int) *Sourced {
	return &Sourced{sources: sources, free: free}
}

// LeftOut returns the number of sentences that were left out.
func (f *Sourced) LeftOut() int {
	if f == nil {
		return 0
	}
	return f.left
}

// Pass returns the text that may be shown after the next piece.
func (f *Sourced) Pass(piece string) (show string) {
	if f == nil {
		return piece
	}
	f.open += piece
	for n := text.SentenceEnd(f.open); n > 0; n = text.SentenceEnd(f.open) {
		show += f.end(n)
	}
	if free := f.free(f.open); free > f.shown {
		show += f.show(f.open[f.shown:free])
		f.shown = free
	}
	return show
}

// Rest returns what is left of the text.
func (f *Sourced) Rest() string {
	if f == nil || f.open == "" {
		return ""
	}
	return f.end(len(f.open))
}

func (f *Sourced) show(text string) string {
	f.marked = f.marked && strings.TrimSpace(text) == ""
	return text
}

// end checks the first n bytes of the open text, a sentence, and returns what is to be shown behind what is.
func (f *Sourced) end(n int) string {
	sentence, shown := f.open[:n], f.shown
	f.open, f.shown = f.open[n:], 0
	if f.sources.say(sentence) {
		return f.show(sentence[shown:])
	}
	f.left++
	if f.marked {
		return ""
	}
	f.marked = true
	mark := leftOut + sentence[len(strings.TrimRight(sentence, " \n")):]
	if shown > 0 && !strings.HasSuffix(sentence[:shown], " ") {
		return " " + mark
	}
	return mark
}

// JSON returns a JSON value without the sentences in its strings that state what no source says.
func (f *Sourced) JSON(raw string) string {
	if f == nil {
		return raw
	}
	before := f.left
	edited := text.EditJSON(raw, func(value string) string {
		f.marked = false
		return f.Pass(value) + f.Rest()
	})
	if f.left == before {
		return raw
	}
	return edited
}

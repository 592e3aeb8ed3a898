package agent

import (
	"strings"
	"unicode/utf8"
)

// holdLimit is how many characters of a round are held back at most.
const holdLimit = 160

// A hold keeps the first text of a round back until it is clear that it belongs to
// the answer: models like to announce a call before they make it. It opens at the
// first line end or after holdLimit characters; a call that comes before drops what
// is held.
type hold struct {
	open bool
	text strings.Builder
	size int
}

// add takes a piece of text and returns what may be shown now.
func (h *hold) add(text string) string {
	if h.open {
		return text
	}
	h.text.WriteString(text)
	h.size += utf8.RuneCountInString(text)
	if h.size < holdLimit && !strings.Contains(strings.TrimLeft(h.text.String(), "\r\n"), "\n") {
		return ""
	}
	return h.release()
}

// release opens the hold and returns what it kept.
func (h *hold) release() string {
	h.open = true
	kept := h.text.String()
	h.text.Reset()
	return kept
}

// drop forgets what is held. Text that was shown already stays.
func (h *hold) drop() { h.text.Reset() }

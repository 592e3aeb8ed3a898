package answer

import "strings"

// clean collects a text with cuts, so that no fragments remain: the sentence of the first cut
// ends there, and later sentences with a cut are left out. Before the first cut text passes at
// once, afterwards sentence by sentence.
type clean struct {
	out strings.Builder
	// raw leaves out only the cut parts: the text is not prose.
	raw bool
	// last is the text shown last.
	last string
	// cuts is set after the first cut; skips until the sentence of that cut has ended.
	cuts, skips bool
	// sentence is buffered until it ends; spoilt is set if it contains a cut.
	sentence strings.Builder
	spoilt   bool
}

// idle reports whether text passes unchanged.
func (c *clean) idle() bool { return !c.cuts && c.out.Len() == 0 }

// take returns the text that may be shown now.
func (c *clean) take() string {
	text := c.out.String()
	c.out.Reset()
	return text
}

// rest ends the text and returns its last sentence.
func (c *clean) rest() string {
	text := c.sentence.String()
	c.sentence.Reset()
	if c.spoilt {
		return ""
	}
	return text
}

func (c *clean) show(text string) {
	if text == "" {
		return
	}
	if !c.cuts || c.raw {
		c.out.WriteString(text)
		c.last = text
		return
	}
	for text != "" {
		n, ends := sentenceEnd(c.last, text)
		piece := text[:n]
		c.last = piece
		text = text[n:]
		if c.skips {
			if c.skips = !ends; ends && strings.HasSuffix(piece, "\n") {
				c.out.WriteString("\n")
			} else if ends {
				c.out.WriteString(" ")
			}
			continue
		}
		c.sentence.WriteString(piece)
		if !ends {
			continue
		}
		if !c.spoilt {
			c.out.WriteString(c.sentence.String())
		}
		c.sentence.Reset()
		c.spoilt = false
	}
}

// cut marks a place where text is left out; instead replaces the first cut.
func (c *clean) cut(instead string) {
	switch {
	case c.raw:
		c.out.WriteString(instead)
		c.cuts = true
		return
	case c.cuts:
		c.spoilt = !c.skips
		return
	}
	if begun := strings.TrimRight(c.last, " "); begun != "" && !strings.ContainsAny(begun[len(begun)-1:], ".!?:>*`\"\n") {
		c.out.WriteString("… ")
	}
	c.out.WriteString(instead)
	c.cuts, c.skips = true, true
}

// sentenceEnd returns the length of the rest of a sentence in a text, including the following
// space, and reports whether the sentence ends in the text.
func sentenceEnd(before, text string) (n int, ends bool) {
	last := byte(' ')
	if before != "" {
		last = before[len(before)-1]
	}
	for i := range len(text) {
		if text[i] == '\n' || text[i] == ' ' && strings.IndexByte(".!?", last) >= 0 {
			return i + 1, true
		}
		last = text[i]
	}
	return len(text), false
}

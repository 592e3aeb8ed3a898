package answer

import "strings"

// clean is a text out of which parts were cut, so that no stumps are left: the sentence of the
// first cut ends where it was cut, and later ones with a cut are left out. Before the first cut
// text passes at once, after it sentence by sentence.
type clean struct {
	out strings.Builder
	// raw leaves out nothing but what is cut: the text is not prose.
	raw bool
	// last is what was shown last.
	last string
	// cuts is set after the first cut; skips while its sentence has not ended.
	cuts, skips bool
	// sentence is held until it ends; spoilt is one with a cut.
	sentence strings.Builder
	spoilt   bool
}

// idle reports whether text passes as it is.
func (c *clean) idle() bool { return !c.cuts && c.out.Len() == 0 }

// take returns what may be shown by now.
func (c *clean) take() string {
	text := c.out.String()
	c.out.Reset()
	return text
}

// rest ends the text.
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

// cut leaves something out; instead stands for the first part that is.
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

// sentenceEnd is where the sentence ends that goes on in a text, its space included, and
// whether it does.
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

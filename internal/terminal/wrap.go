package terminal

import "strings"

// wrap breaks styled text into lines of at most columns columns, at spaces where it
// can. It returns each line with its styles written out.
func wrap(spans []span, columns int) []string {
	w := wrapper{columns: max(columns, 1)}
	for _, s := range spans {
		if s.text == "\n" {
			w.flushWord()
			w.breakLine()
			continue
		}
		for _, r := range s.text {
			w.rune(r, s)
		}
	}
	w.flushWord()
	if w.used > 0 || len(w.done) == 0 {
		w.breakLine()
	}
	return w.done
}

type wrapper struct {
	columns int
	done    []string
	line    []span // of the line under way
	used    int    // its columns
	word    []span // not yet on a line
	length  int    // the word's columns
	space   bool   // a space separates line and word
	spaced  span
	before  rune // the character of the word that came last
}

func (w *wrapper) rune(r rune, in span) {
	if r == ' ' || r == '\t' || r == '\n' {
		w.flushWord()
		w.space, w.spaced, w.before = w.used > 0, in, r
		return
	}
	n := stepWidth(w.before, r)
	w.before = r
	if w.length+n > w.columns { // a word longer than the line is cut
		w.flushWord()
	}
	w.word = appendRune(w.word, r, in)
	w.length += n
}

// flushWord puts the word on the line, or on the next one.
func (w *wrapper) flushWord() {
	if w.length == 0 && len(w.word) == 0 {
		return
	}
	need := w.length
	if w.space {
		need++
	}
	if w.used > 0 && w.used+need > w.columns {
		w.breakLine()
	}
	if w.space {
		w.line = appendRune(w.line, ' ', w.spaced)
		w.used++
	}
	for _, s := range w.word {
		w.line = appendSpan(w.line, s)
	}
	w.used += w.length
	w.word, w.length, w.space = w.word[:0], 0, false
}

func (w *wrapper) breakLine() {
	var b strings.Builder
	for _, s := range w.line {
		b.WriteString(s.written())
	}
	w.done = append(w.done, b.String())
	w.line, w.used, w.space = w.line[:0], 0, false
}

func appendRune(to []span, r rune, in span) []span {
	in.text = string(r)
	return appendSpan(to, in)
}

// appendSpan joins spans of one style and link.
func appendSpan(to []span, s span) []span {
	if last := len(to) - 1; last >= 0 && to[last].style == s.style && to[last].link == s.link {
		to[last].text += s.text
		return to
	}
	return append(to, s)
}

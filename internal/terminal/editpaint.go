package terminal

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// continued precedes every further line of the text.
const continued = "… "

// screen is what an [Editor] knows of the terminal.
type screen struct {
	status string // the line above the prompt
	busy   bool   // an empty text is not shown

	painted bool
	wide    int    // columns when it was painted
	widths  []int  // of the rows above the cursor's, and of its row up to the cursor
	column  int    // of the cursor in the text above
	below   bool   // the painting begins below that line, which has no end
	highest int    // rows of the highest painting since the text above began to change
	held    []byte // written at the end of Together; nil outside of it
}

// SetStatus sets a line that Paint shows above the prompt; empty for none. The text must be clean.
func (e *Editor) SetStatus(line string) { e.status = line }

// SetBusy tells whether something else is written: an empty text is then not shown.
func (e *Editor) SetBusy(busy bool) { e.busy, e.highest = busy, 0 }

// Write writes text above the painting, which it removes. Lines end in "\r\n"; a text may end within a
// line, where the next one continues.
func (e *Editor) Write(text []byte) (int, error) {
	e.Erase()
	e.column = columnAfter(string(text), e.column)
	if err := e.emit(string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Room returns the size of the terminal without the rows of the painting: what text above it may
// still change.
func (e *Editor) Room() (columns, rows int) {
	columns, rows = e.size()
	return columns, max(rows-e.highest, 1)
}

// Together writes all that f writes at once, so that no half of it is seen.
func (e *Editor) Together(f func() error) error {
	e.held = []byte{}
	err := f()
	all := e.held
	e.held = nil
	if _, failed := e.w.Write(all); err == nil {
		err = failed
	}
	return err
}

func (e *Editor) emit(text string) error {
	if e.held != nil {
		e.held = append(e.held, text...)
		return nil
	}
	_, err := io.WriteString(e.w, text)
	return err
}

// columnAfter returns the cursor's column after a text.
func columnAfter(text string, column int) int {
	before := rune(0)
	for text != "" {
		if rest, found := strings.CutPrefix(text, "\x1b]"); found {
			text = rest[controlString(rest):]
			continue
		}
		if rest, found := strings.CutPrefix(text, "\x1b["); found {
			length := parameters(rest)
			if length > 0 && rest[length-1] == 'C' {
				n, _ := strconv.Atoi(rest[:length-1])
				column += n
			}
			text = rest[length:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\r':
			column = 0
		case r >= ' ':
			column += stepWidth(before, r)
		}
		text, before = text[size:], r
	}
	return column
}

// Paint shows status, prompt, text and menu with the cursor, over the previous painting. If a text is
// higher than the screen it shows the rows around the cursor.
func (e *Editor) Paint() error {
	columns, rows := e.size()
	columns = max(columns, 4)
	lines, row, column := e.layout(columns)
	hidden := e.busy && len(e.text) == 0 && e.search == nil
	if hidden {
		lines, row, column = nil, 0, 0
	}
	if hidden && e.status == "" {
		e.Erase()
		return nil
	}
	most := max(rows-1, 1)
	if e.status != "" {
		if lines = append([]string{dim.on(Truncate(e.status, columns-1))}, lines...); hidden {
			column = Width(Truncate(e.status, columns-1))
		} else {
			row++
		}
	}
	var menu []string
	if !hidden {
		menu = e.menu.rows(columns, most-min(len(lines), most-min(maxMenu, most/2)))
	}
	most -= len(menu)
	if top := row - most + 1; top > 0 { // keep the cursor's row on the screen
		lines, row = lines[top:], row-top
	}
	lines = append(lines[:min(len(lines), most)], menu...)
	var b strings.Builder
	e.toTop(&b)
	if !e.painted && e.column > 0 {
		e.below = true
		b.WriteString("\r\n")
	}
	e.painted, e.wide, e.widths = true, columns, e.widths[:0]
	e.highest = max(e.highest, len(lines))
	for _, line := range lines[:row] {
		e.widths = append(e.widths, Width(unstyled(line)))
	}
	e.widths = append(e.widths, column)
	b.WriteString(strings.Join(lines, "\r\n"))
	if up := len(lines) - 1 - row; up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString("\r" + forward(column))
	return e.emit(b.String())
}

// forward moves the cursor to the right.
func forward(columns int) string {
	if columns == 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(columns) + "C"
}

// Erase removes the painting from the screen; the cursor is then where the text above ends.
func (e *Editor) Erase() {
	if !e.painted {
		return
	}
	var b strings.Builder
	e.toTop(&b)
	if e.below {
		columns, _ := e.size()
		b.WriteString("\x1b[1A" + forward(e.column%max(columns, 1)))
	}
	e.painted, e.below = false, false
	_ = e.emit(b.String()) // the next Paint notices a terminal that is gone
}

// Leave keeps the text on the screen; the cursor moves to the line below it.
func (e *Editor) Leave() error {
	e.at, e.search, e.menu, e.status, e.busy = len(e.text), nil, nil, "", false
	err := e.Paint()
	e.painted, e.below, e.column = false, false, 0
	if err == nil {
		err = e.emit("\r\n")
	}
	return err
}

// toTop moves to the first painted row and clears from there. A terminal that has become
// narrower has wrapped the rows that no longer fit.
func (e *Editor) toTop(b *strings.Builder) {
	if !e.painted {
		return
	}
	columns, _ := e.size()
	up := len(e.widths) - 1
	if columns > 0 && columns < e.wide {
		for i, width := range e.widths {
			if i < len(e.widths)-1 {
				width-- // a row that just fits is not broken
			}
			up += max(width, 0) / columns
		}
	}
	if up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString("\r\x1b[J")
}

// layout breaks prompt and text into rows of less than columns columns, and finds the cursor
// in them.
func (e *Editor) layout(columns int) (lines []string, row, column int) {
	var line strings.Builder
	prompt := e.prompt
	if e.search != nil {
		prompt = e.search.prompt(columns)
	}
	line.WriteString(prompt)
	used := Width(prompt)
	end := func(next string) {
		lines = append(lines, line.String())
		line.Reset()
		line.WriteString(next)
		used = Width(next)
	}
	before := rune(0)
	for i, r := range e.text {
		shown, width := string(r), stepWidth(before, r)
		before = r
		if r == '\t' {
			shown, width = " ", 1
		}
		if r != '\n' && used+width >= columns { // the last column would wrap the cursor
			end("")
		}
		if i == e.at {
			row, column = len(lines), used
		}
		if r == '\n' {
			end(continued)
			continue
		}
		line.WriteString(shown)
		used += width
	}
	if e.at == len(e.text) {
		row, column = len(lines), used
	}
	return append(lines, line.String()), row, column
}

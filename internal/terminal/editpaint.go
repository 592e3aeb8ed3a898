package terminal

import (
	"io"
	"strconv"
	"strings"
)

// continued precedes every further line of the text.
const continued = "… "

// Paint shows prompt and text with the cursor, over the previous painting. If a text is higher
// than the screen it shows the rows around the cursor.
func (e *Editor) Paint() error {
	columns, rows := e.size()
	columns = max(columns, 4)
	lines, row, column := e.layout(columns)
	if top := row - max(rows-2, 0); top > 0 { // keep the cursor's row on the screen
		lines, row = lines[top:], row-top
	}
	if most := max(rows-1, 1); len(lines) > most {
		lines = lines[:most]
	}
	var b strings.Builder
	e.toTop(&b)
	e.painted, e.wide, e.widths = true, columns, e.widths[:0]
	for _, line := range lines[:row] {
		e.widths = append(e.widths, Width(line))
	}
	e.widths = append(e.widths, column)
	b.WriteString(strings.Join(lines, "\r\n"))
	if up := len(lines) - 1 - row; up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString("\r")
	if column > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(column) + "C")
	}
	_, err := io.WriteString(e.w, b.String())
	return err
}

// Erase removes the painting from the screen; the cursor is then at the start of an empty
// line.
func (e *Editor) Erase() {
	if !e.painted {
		return
	}
	var b strings.Builder
	e.toTop(&b)
	e.painted = false
	_, _ = io.WriteString(e.w, b.String())
}

// Leave keeps the text on the screen; the cursor moves to the line below it.
func (e *Editor) Leave() error {
	e.at, e.search = len(e.text), nil
	err := e.Paint()
	e.painted = false
	if err == nil {
		_, err = io.WriteString(e.w, "\r\n")
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
	for i, r := range e.text {
		shown, width := string(r), runeWidth(r)
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

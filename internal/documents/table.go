package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// longestName bounds the name of a column, in characters, and mostColumns the columns that are read.
	longestName = 80
	mostColumns = 1000
	// longestHeading bounds a row of one cell that is a heading, in characters.
	longestHeading = 100
)

// A row is a row of a table; line is its number, from 1.
type row struct {
	line  int
	cells []cell // that hold a text, from left to right
	// head is set if the document itself calls it a row of column names.
	head bool
}

// A cell spans columns from one at 0 or more.
type cell struct {
	at, span int
	text     string
	bold     bool
}

// A table is read row by row, so that each makes sense alone.
type table struct {
	level int    // of the headings within it
	sheet string // that it fills
	lines bool   // whether its rows have numbers that people see
	plain bool   // whether it is nothing but rows: none is a heading
	names []string
	parts []Part
	size  int
}

// read returns the rows of a table as texts: "Service: scaling; Price: 300,000".
func (t *table) read(rows []row) ([]Part, error) {
	columns, blank, titled := 0, true, true
	for _, r := range rows {
		columns = max(columns, len(r.cells))
	}
	for i := 0; i < len(rows); i++ {
		r, after := rows[i], rows[i+1:]
		var err error
		switch {
		case len(r.cells) == 0:
			blank, titled = true, false
			continue
		case t.repeats(r):
			continue
		case len(r.cells) == 1 && (t.names == nil || !t.plain && (blank || len(t.names) > 2 || r.cells[0].span > 1 || r.cells[0].bold)):
			err = t.single(r, columns > 1, after)
			titled = true
		case isHead(r, after, t.names == nil || blank && titled):
			i += t.head(r, after)
			blank = false
		default:
			err = t.row(r)
			blank = false
		}
		if err != nil {
			return t.parts, err
		}
	}
	return t.parts, nil
}

// single adds a row of one cell: a heading if a table follows, else a paragraph.
func (t *table) single(r row, isTable bool, after []row) error {
	p := Part{Text: r.cells[0].text}
	below := t.names == nil && len(t.parts) > 0 && t.parts[len(t.parts)-1].Level > 0 // a title has one line
	if isTable && !below && utf8.RuneCountInString(p.Text) <= longestHeading && len(after) > 0 && precedesRows(after) {
		if p.Level = t.level; t.names != nil {
			p.Level++
		}
	}
	return t.add(p, r.line)
}

// precedesRows reports whether a row of several cells follows, perhaps after empty rows and others of one cell.
func precedesRows(after []row) bool {
	for _, r := range after[:min(len(after), 4)] {
		if len(r.cells) > 1 {
			return true
		}
	}
	return false
}

// head takes the names of the columns from a row, and from those below it that go on, and returns how
// many more rows it took.
func (t *table) head(r row, after []row) (more int) {
	t.names = nil
	t.name(r)
	for last := r; more < len(after) && more < 3 && isBelow(last, after[more], after[more+1:]); more++ {
		last = after[more]
		t.name(last)
	}
	return more
}

// repeats reports whether a row holds the names of the columns once more, as on each page.
func (t *table) repeats(r row) bool {
	for _, c := range r.cells {
		if c.at >= len(t.names) || oneLine(c.text) != t.names[c.at] {
			return false
		}
	}
	return len(r.cells) > 1
}

// name adds the cells of a row to the names of their columns.
func (t *table) name(r row) {
	for _, c := range r.cells {
		for at := c.at; at < min(c.at+c.span, mostColumns); at++ {
			for len(t.names) <= at {
				t.names = append(t.names, "")
			}
			name := oneLine(c.text)
			if utf8.RuneCountInString(name) > longestName {
				name = string([]rune(name)[:longestName]) + "…"
			}
			if t.names[at] == "" || t.names[at] == name {
				t.names[at] = name
			} else {
				t.names[at] += " - " + name
			}
		}
	}
}

// isBelow reports whether a row goes on with the names of a row above it in which a cell spans columns.
func isBelow(head, r row, after []row) bool {
	if len(r.cells) == 0 || len(after) == 0 {
		return false
	}
	if r.head {
		return true
	}
	below := false
	for _, c := range r.cells {
		if isValue(c.text) {
			return false
		}
		for _, h := range head.cells {
			if h.span > 1 && c.at >= h.at && c.at < h.at+h.span && c.text != h.text {
				below = true
			}
		}
	}
	if !below {
		return false
	}
	for _, c := range r.cells { // each is below a wide cell, or the same cell goes on
		under := false
		for _, h := range head.cells {
			under = under || c.at >= h.at && c.at < h.at+h.span && (h.span > 1 || c.text == h.text)
		}
		if !under {
			return false
		}
	}
	return true
}

// isHead reports whether a row holds the names of the columns of the rows after it. Unless a table may begin
// there, only its look tells.
func isHead(r row, after []row, begins bool) bool {
	if r.head {
		return len(r.cells) > 1
	}
	if len(r.cells) < 2 || len(after) == 0 || len(after[0].cells) == 0 {
		return false
	}
	bold, values, columns := true, false, 0
	seen := make(map[string]bool, len(r.cells))
	for _, c := range r.cells {
		columns += c.span
		bold = bold && c.bold
		values = values || isValue(c.text)
		if utf8.RuneCountInString(c.text) > longestName || seen[c.text] {
			return false
		}
		seen[c.text] = true
	}
	plain, below := false, columns == 2
	for _, next := range after[:min(len(after), 5)] {
		for i, c := range next.cells {
			plain = plain || !c.bold
			// Two columns may as well pair names and values, which are not all numbers.
			below = below && (i == 0 && !strings.HasSuffix(c.text, ":") || i == 1 && isValue(c.text))
		}
	}
	return bold && plain || begins && !values && (below || columns > 2)
}

// isValue reports whether a text is a number, a date or the like, and not a name.
func isValue(s string) bool {
	digits, letters := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits > letters
}

// row adds a row of values.
func (t *table) row(r row) error {
	var b strings.Builder
	for i, c := range r.cells {
		text := oneLine(c.text)
		name := ""
		if c.at < len(t.names) {
			name = t.names[c.at]
		}
		switch {
		case i > 0 && t.names == nil && len(r.cells) == 2 && !strings.HasSuffix(b.String(), ":"):
			b.WriteString(": ") // a table of two columns without names pairs a name and a value
		case i > 0 && t.names == nil && len(r.cells) == 2:
			b.WriteString(" ")
		case i > 0:
			b.WriteString("; ")
		}
		if name != "" && name != text {
			b.WriteString(strings.TrimSuffix(name, ":") + ": ")
		}
		b.WriteString(text)
	}
	return t.add(Part{Text: b.String(), Follows: true}, r.line)
}

func (t *table) add(p Part, line int) error {
	if t.size += len(p.Text); t.size > largestText {
		return errFull
	}
	p.Sheet = t.sheet
	if t.lines {
		p.Line = line
	}
	t.parts = append(t.parts, p)
	return nil
}

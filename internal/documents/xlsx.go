package documents

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostEmpty bounds the rows of a sheet with those that are empty: Excel has no more.
	mostEmpty = 1 << 20
	// mostMerges bounds the merged cells of a sheet, and mostSpread the cells that repeat their texts.
	mostMerges = 20_000
	mostSpread = 200_000
)

// An xlsx reads a workbook.
type xlsx struct {
	pack   *pack
	shared []string // the texts that cells share
	looks  looks
}

// A sheet is a sheet of a workbook.
type sheet struct{ name, file string }

// readXLSX reads what a person sees of a workbook: its sheets row by row, without hidden sheets, rows and
// columns; numbers and dates as they are shown, formulas by their last result.
func readXLSX(ctx context.Context, data []byte, b *builder) error {
	p, err := openPack(ctx, data, "workbook")
	if err != nil {
		return err
	}
	links, err := p.links(p.main)
	if err != nil {
		return err
	}
	w := &xlsx{pack: p}
	sheets, err := w.workbook(links)
	if err != nil {
		return err
	}
	if err := w.readShared(links.ofType("sharedStrings")); err != nil {
		return err
	}
	if err := w.looks.read(p, links.ofType("styles")); err != nil {
		return err
	}
	w.looks.vietnamese = slices.ContainsFunc(w.shared, isVietnamese)
	for _, s := range sheets {
		rows, more := w.rows(s, b)
		if more != nil && !errors.Is(more, errRows) && !errors.Is(more, errFull) {
			return fmt.Errorf("sheet %s: %w", s.name, more)
		}
		t := table{level: 2, sheet: s.name, lines: true}
		parts, full := t.read(rows)
		if len(parts) > 0 && !plainSheet.MatchString(s.name) {
			parts = append([]Part{{Level: 1, Text: s.name, Sheet: s.name}}, parts...)
		}
		if err := cmp.Or(b.add(parts...), more, full); err != nil {
			return err
		}
	}
	return nil
}

// plainSheet is a name that a program gave to a sheet.
var plainSheet = regexp.MustCompile(`^(?i:sheet|trang tính|trang_tính|bảng tính) ?\d+$`)

// isVietnamese reports whether a text has letters that only Vietnamese uses.
func isVietnamese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x1EA0 && r <= 0x1EF9 || strings.ContainsRune("ƠơƯưĐđ", r) })
}

// workbook returns the visible sheets, in order.
func (w *xlsx) workbook(links links) (sheets []sheet, err error) {
	x, err := w.pack.xml(w.pack.main, mostSmall)
	if err != nil {
		return nil, err
	}
	err = x.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			w.looks.since1904 = attr(e, "date1904") == "1" || attr(e, "date1904") == "true"
		case "sheet":
			file := ""
			for _, a := range e.Attr {
				if a.Name.Local == "id" { // and not sheetId
					file = links.byID[a.Value]
				}
			}
			if state := attr(e, "state"); file != "" && state != "hidden" && state != "veryHidden" {
				sheets = append(sheets, sheet{attr(e, "name"), file})
			}
		}
		return nil
	})
	return sheets, err
}

// readShared reads the texts that cells share.
func (w *xlsx) readShared(name string) error {
	x, err := w.pack.xml(name, mostUnpacked)
	if errors.Is(err, errAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	return x.each(func(e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		text, err := x.rich()
		w.shared = append(w.shared, text)
		return err
	})
}

// rich returns the text of the element that began last, without the signs that tell how to read it.
func (x *tokens) rich() (string, error) {
	var b strings.Builder
	depth := 0 // within an element of text, if above 0
	err := x.within(func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "rPh":
				return x.skip()
			case "t":
				depth++
			}
		case xml.EndElement:
			if t.Name.Local == "t" {
				depth--
			}
		case xml.CharData:
			if depth > 0 {
				b.Write(t)
			}
		}
		return nil
	})
	return b.String(), err
}

// rows reads the rows of a sheet. Rows that are missing between others are one empty row.
func (w *xlsx) rows(s sheet, b *builder) ([]row, error) {
	x, err := w.pack.xml(s.file, mostUnpacked)
	if err != nil {
		return nil, err
	}
	var rows []row
	var merges []merge
	hidden := make(map[int]bool) // columns
	size, number, seen := 0, 0, 0
	var stop error
	err = x.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "col":
			first, _ := strconv.Atoi(attr(e, "min"))
			last, _ := strconv.Atoi(attr(e, "max"))
			for at := max(first, 1); at <= min(last, mostColumns) && isTrue(attr(e, "hidden")); at++ {
				hidden[at-1] = true
			}
		case "row":
			before := number
			if number++; attr(e, "r") != "" {
				number, _ = strconv.Atoi(attr(e, "r"))
			}
			cells, err := w.cells(x, hidden)
			if err != nil || isTrue(attr(e, "hidden")) {
				return err
			}
			if (number > before+1 || len(cells) == 0) && len(rows) > 0 && len(rows[len(rows)-1].cells) > 0 {
				rows = append(rows, row{})
			}
			if seen++; seen > mostEmpty {
				stop = errRows
				return io.EOF
			}
			if len(cells) == 0 {
				return nil
			}
			for _, c := range cells {
				size += len(c.text) + len("; ")
			}
			rows = append(rows, row{line: number, cells: cells})
			if b.rows++; b.rows >= mostRows {
				stop = errRows
			} else if b.size+size > largestText {
				stop = errFull
			}
			if stop != nil {
				return io.EOF
			}
		case "mergeCell":
			if m, ok := parseMerge(attr(e, "ref")); ok && len(merges) < mostMerges {
				merges = append(merges, m)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return spread(rows, merges, hidden), stop
}

func isTrue(value string) bool { return value == "1" || value == "true" }

// cells reads the cells of a row that hold a text.
func (w *xlsx) cells(x *tokens, hidden map[int]bool) (cells []cell, err error) {
	at := -1
	err = x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "c" {
			return nil
		}
		at++
		if column, _, ok := parseRef(attr(e, "r")); ok {
			at = column
		}
		look, _ := strconv.Atoi(attr(e, "s"))
		text, err := w.value(x, attr(e, "t"), look)
		if text = strings.TrimSpace(text); text != "" && at < mostColumns && !hidden[at] {
			cells = append(cells, cell{at: at, span: 1, text: text, bold: w.looks.isBold(look)})
		}
		return err
	})
	slices.SortStableFunc(cells, func(a, b cell) int { return cmp.Compare(a.at, b.at) })
	return cells, err
}

// value reads the value of a cell of a type as it is shown.
func (w *xlsx) value(x *tokens, kind string, look int) (text string, err error) {
	var raw strings.Builder
	in := false
	err = x.within(func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "is":
				text, err = x.rich()
				return err
			case "f", "extLst":
				return x.skip()
			case "v":
				in = true
			}
		case xml.EndElement:
			in = in && t.Name.Local != "v"
		case xml.CharData:
			if in {
				raw.Write(t)
			}
		}
		return nil
	})
	value := strings.TrimSpace(raw.String())
	switch {
	case err != nil || value == "":
		return text, err
	case kind == "s":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < len(w.shared) {
			return w.shared[n], nil
		}
		return "", nil
	case kind == "b":
		return map[bool]string{true: "TRUE", false: "FALSE"}[isTrue(value)], nil
	case kind == "e": // the formula failed
		return "", nil
	case kind == "" || kind == "n":
		return w.looks.show(value, look), nil
	}
	return raw.String(), nil
}

// A merge is a rectangle of cells that show the text of its first one. Columns and rows begin at 0 and 1.
type merge struct{ left, top, right, bottom int }

func parseMerge(ref string) (merge, bool) {
	from, to, _ := strings.Cut(ref, ":")
	left, top, ok := parseRef(from)
	right, bottom, also := parseRef(to)
	return merge{left, top, min(right, mostColumns-1), bottom}, ok && also && right >= left && bottom >= top
}

// parseRef returns the column, from 0, and the row, from 1, of a cell such as "B3".
func parseRef(ref string) (column, line int, ok bool) {
	letters := strings.TrimRight(ref, "0123456789")
	if letters == "" || len(letters) > 3 {
		return 0, 0, false
	}
	for _, r := range strings.ToUpper(letters) {
		if r < 'A' || r > 'Z' {
			return 0, 0, false
		}
		column = column*26 + int(r-'A') + 1
	}
	line, err := strconv.Atoi(ref[len(letters):])
	return column - 1, line, err == nil && line > 0
}

// spread lets merged cells span their columns, and repeats their text in each of their rows that holds
// something else, so that each row makes sense alone.
func spread(rows []row, merges []merge, hidden map[int]bool) []row {
	slices.SortStableFunc(merges, func(a, b merge) int { return cmp.Compare(a.top, b.top) })
	type open struct {
		merge
		cell cell
	}
	var opened []open
	left := mostSpread
	for i := range rows {
		r := &rows[i]
		if len(r.cells) == 0 {
			continue
		}
		opened = slices.DeleteFunc(opened, func(o open) bool { return o.bottom < r.line })
		for _, o := range opened { // from rows above
			if left--; left > 0 {
				r.cells = append(r.cells, o.cell)
			}
		}
		for len(merges) > 0 && merges[0].top <= r.line {
			m := merges[0]
			merges = merges[1:]
			at := slices.IndexFunc(r.cells, func(c cell) bool { return c.at == m.left })
			if m.top < r.line || at < 0 {
				continue
			}
			c := &r.cells[at]
			c.span = 0
			for column := m.left; column <= m.right; column++ {
				if !hidden[column] {
					c.span++
				}
			}
			c.span = max(c.span, 1)
			if m.bottom > r.line && len(opened) < mostColumns {
				opened = append(opened, open{m, *c})
			}
		}
		slices.SortStableFunc(r.cells, func(a, b cell) int { return cmp.Compare(a.at, b.at) })
		r.cells = slices.CompactFunc(r.cells, func(a, b cell) bool { return a.at == b.at })
	}
	return rows
}

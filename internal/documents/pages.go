package documents

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// edge is how many lines at the top and at the bottom of a page may be its header and its footer.
	edge = 3
	// mostPages and mostLines bound what is read of a converted text.
	mostPages = 20_000
	mostLines = 1_000_000
	// gap is the widest gap between two columns of a table that is kept, in characters.
	gap = 4
)

// A page is a page of converted text.
type page struct {
	number int
	lines  []string
}

// readPages reads text that a program printed: pages end with a form feed, and paragraphs with an empty
// line.
func readPages(text string, isPDF bool, b *builder) error {
	text, more := firstPages(text)
	text = strings.ReplaceAll(norm.NFC.String(strings.ToValidUTF8(text, " ")), "\r\n", "\n")
	hasPages := isPDF || strings.Contains(text, "\f")
	var pages []page
	for i, one := range strings.Split(strings.TrimSuffix(text, "\f"), "\f") {
		p := page{number: i + 1, lines: strings.Split(clean(one), "\n")}
		if !hasPages {
			p.number = 0
		}
		pages = append(pages, p)
	}
	empty := 0
	for _, p := range pages {
		if !strings.ContainsFunc(strings.Join(p.lines, ""), isSign) {
			empty++
		}
	}
	if isPDF && empty == len(pages) {
		return errors.New("a scan: it holds pictures, no text; run OCR over it (ocrmypdf) first")
	}
	if isPDF && empty*2 > len(pages) {
		b.Left = fmt.Sprintf("%d of its %d pages hold pictures, no text; run OCR over it (ocrmypdf)", empty, len(pages))
	}
	dropRunning(pages)
	var open *Part // the last paragraph before
	last := 0      // page with a text
	for _, p := range pages {
		parts := p.parts()
		if open != nil && len(parts) > 0 && p.number == last+1 && runsOver(open.Text, parts[0]) {
			open.Text += "\n" + parts[0].Text
			parts = parts[1:]
		}
		if open != nil && len(parts) > 0 {
			if err := b.add(*open); err != nil {
				return err
			}
			open = nil
		}
		if n := len(parts); n > 0 {
			last = p.number
			if err := b.add(parts[:n-1]...); err != nil {
				return err
			}
			open = &parts[n-1]
		}
	}
	if open != nil {
		if err := b.add(*open); err != nil {
			return err
		}
	}
	return more
}

// firstPages returns the pages and lines of a text up to the bounds, and whether there are more.
func firstPages(text string) (string, error) {
	pages, lines := 1, 1
	for i := range len(text) {
		switch text[i] {
		case '\f':
			pages++
		case '\n':
			lines++
		}
		if pages > mostPages && i+1 < len(text) || lines > mostLines {
			return text[:i], errPages
		}
	}
	return text, nil
}

func isSign(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// runsOver reports whether a paragraph at the end of a page goes on with the first one of the next.
func runsOver(text string, next Part) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(next.Text))
	return next.Level == 0 && unicode.IsLower(first) && !strings.ContainsRune(".!?:;", last)
}

// dropRunning removes the headers and footers: lines at the edges of pages that, but for their numbers,
// stand on most pages.
func dropRunning(pages []page) {
	const fewest = 3
	if len(pages) < fewest {
		return
	}
	on := make(map[string]int) // pages
	for _, p := range pages {
		seen := make(map[string]bool)
		for _, i := range p.edges() {
			if key := withoutNumbers(p.lines[i]); !seen[key] {
				seen[key] = true
				on[key]++
			}
		}
	}
	for _, p := range pages {
		for _, i := range p.edges() {
			if on[withoutNumbers(p.lines[i])]*2 > len(pages) {
				p.lines[i] = ""
			}
		}
	}
}

// edges returns the numbers of the first and the last lines of a page that hold something.
func (p page) edges() (edges []int) {
	for i, line := range p.lines {
		if strings.TrimSpace(line) != "" {
			edges = append(edges, i)
		}
	}
	if len(edges) > 2*edge {
		edges = slices.Concat(edges[:edge], edges[len(edges)-edge:])
	}
	return edges
}

// withoutNumbers returns a line with its numbers replaced and its spaces evened.
func withoutNumbers(line string) string {
	var b strings.Builder
	digit := false
	for _, r := range oneLine(line) {
		isDigit := unicode.IsDigit(r)
		if isDigit && !digit {
			b.WriteByte('#')
		} else if !isDigit {
			b.WriteRune(r)
		}
		digit = isDigit
	}
	return b.String()
}

// parts returns the headings, the paragraphs and the rows of the tables of a page.
func (p page) parts() (parts []Part) {
	var lines []string
	var rows [][]string // of a table
	endTable := func() {
		parts = append(parts, p.table(rows)...)
		rows = nil
	}
	end := func() {
		switch {
		case len(lines) == 0:
		case columns.MatchString(strings.TrimSpace(lines[0])):
			rows = append(rows, lines)
		default:
			endTable()
			parts = append(parts, Part{Text: strings.Join(squeeze(lines), "\n"), Page: p.number})
		}
		lines = nil
	}
	for i, line := range p.lines {
		if strings.TrimSpace(line) == "" {
			end()
			continue
		}
		if len(lines) == 0 {
			if level := headingLevel(line, p.lines[i+1:], p.number > 0); level > 0 {
				endTable()
				parts = append(parts, Part{Level: level, Text: strings.TrimLeft(oneLine(line), "# "), Page: p.number})
				continue
			}
		}
		lines = append(lines, line)
	}
	end()
	endTable()
	return parts
}

// table returns the rows of a table, whose columns stay below each other. Without empty lines between them,
// each line is a row.
func (p page) table(rows [][]string) (parts []Part) {
	if len(rows) == 0 {
		return nil
	}
	if len(rows) == 1 {
		lines := rows[0]
		rows = nil
		for _, line := range lines {
			if len(rows) == 0 || columns.MatchString(strings.TrimSpace(line)) {
				rows = append(rows, []string{line})
			} else {
				last := len(rows) - 1
				rows[last] = append(rows[last], line)
			}
		}
	}
	even := squeeze(slices.Concat(rows...))
	head := ""
	for i, row := range rows {
		text := strings.Join(even[:len(row)], "\n")
		even = even[len(row):]
		parts = append(parts, Part{Text: text, Head: head, Follows: i > 0, Page: p.number})
		if i == 0 && !slices.ContainsFunc(columns.Split(oneSpaced(row), -1), isValue) {
			head = text
		}
	}
	return parts
}

// oneSpaced joins the lines of a row.
func oneSpaced(row []string) string { return strings.TrimSpace(strings.Join(row, "   ")) }

var (
	// marked is a heading of Markdown, which converters can write.
	marked = regexp.MustCompile(`^(#{1,6}) \S`)
	// numbered is a line with the number of a chapter or a section before its name: "2.1. Deposits", "IV. Fees",
	// "Chương 3", "Article 5. Refunds".
	numbered = regexp.MustCompile(`^(?:(\d{1,2}(?:\.\d{1,2})+)\.?|(\d{1,2})\.|([IVX]{1,5})\.|((?i:phần|chương|mục|điều|phụ lục|part|chapter|section|article|appendix)) [\dIVXA-Z.]{1,6}[.:]?)(?: +(\S.*))?$`)
	// columns is a gap between two columns.
	columns = regexp.MustCompile(` {3,}`)
	// sentence is the end of a sentence before another.
	sentence = regexp.MustCompile(`\pL\pL[.!?] +\p{Lu}`)
)

// headingLevel returns the level of a line that begins a paragraph if it is a heading, else 0.
func headingLevel(line string, after []string, isPage bool) int {
	text := strings.TrimSpace(line)
	if !isPage {
		if m := marked.FindStringSubmatch(text); m != nil {
			return len(m[1])
		}
		return 0
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	if utf8.RuneCountInString(text) > longestHeading || columns.MatchString(text) || strings.ContainsRune(",;", last) {
		return 0
	}
	level := numberLevel(text)
	if sentence.MatchString(text) {
		return 0
	}
	if level == 0 {
		if isShouted(text) {
			return 1
		}
		return 0
	}
	// The items of a list have numbers too: the next one follows.
	for _, next := range after {
		if next = strings.TrimSpace(next); next == "" {
			continue
		}
		if numberLevel(next) == level {
			return 0
		}
		break
	}
	if strings.ContainsRune(".", last) && len(strings.Fields(text)) > 2 {
		return 0
	}
	return level
}

// numberLevel returns how deep the number before a name is: 2 for "3. Fees", 3 for "3.1. Deposits".
func numberLevel(text string) int {
	m := numbered.FindStringSubmatch(text)
	switch {
	case m == nil:
		return 0
	case m[4] != "": // a chapter
		return 1
	}
	if first, _ := utf8.DecodeRuneInString(m[5]); !unicode.IsUpper(first) {
		return 0
	}
	if m[3] != "" {
		return 1
	}
	return 2 + strings.Count(m[1], ".")
}

// isShouted reports whether a line is written in capital letters.
func isShouted(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters > 5 && letters*2 > utf8.RuneCountInString(text)
}

// squeeze returns the lines of a paragraph without their common indent, and with wide gaps between the
// columns of a table made narrow, so that the columns stay below each other.
func squeeze(lines []string) []string {
	runes := make([][]rune, len(lines))
	width := 0
	for i, line := range lines {
		runes[i] = []rune(strings.TrimRight(line, " "))
		width = max(width, len(runes[i]))
	}
	if len(lines) == 1 {
		runes[0] = []rune(strings.TrimLeft(string(runes[0]), " "))
	}
	used := make([]bool, width)
	for _, line := range runes {
		for at, r := range line {
			used[at] = used[at] || r != ' '
		}
	}
	keep := make([]bool, width)
	empty, begun := 0, false
	for at := range used {
		if used[at] {
			empty, begun = 0, true
		} else {
			empty++
		}
		keep[at] = used[at] || begun && empty <= gap
	}
	out := make([]string, 0, len(lines))
	for _, line := range runes {
		var b strings.Builder
		for at, r := range line {
			if keep[at] {
				b.WriteRune(r)
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

package knowledge

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"molar/internal/documents"
)

const (
	// passageSize is how many bytes of text a passage holds before it ends with a paragraph:
	// enough for a model, or a person, to read at once.
	passageSize = 1200
	// largestPassage is where a longer paragraph is cut, in bytes.
	largestPassage = 2400
)

// A passage is a part of a file under one heading.
type passage struct {
	file  string // its path below the folder, with slashes
	title string // the file's title and the headings down to the passage
	// heading is the one above it, anchor the same as a URL fragment.
	heading, anchor string
	// line is the number of its first line, or of its first row; page that of its page in a PDF, and sheet
	// names its sheet in a workbook. They are empty where a document has none.
	line, page int
	sheet      string
	// last is the number of its last row; part which of the file's passages it is, from 1.
	last, part int
	text       string
	// keywords are additional search words; they are never shown.
	keywords string
	// source is the page that it is based on, as "name | address".
	source string
}

// texts returns the endings of readable files.
func texts() []string {
	return []string{".md", ".markdown", ".mdx", ".html", ".htm", ".txt", ".text"}
}

// isText reports whether a file is readable, by its name.
func isText(name string) bool { return slices.Contains(texts(), strings.ToLower(path.Ext(name))) }

// isPage reports whether a file may show pictures, by its name.
func isPage(name string) bool { return isText(name) && !strings.HasPrefix(path.Ext(name), ".t") }

// cut returns the title and the passages of a text file.
func cut(file, text string) (title string, passages []passage) {
	c := cutter{file: file, title: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	switch strings.ToLower(path.Ext(file)) {
	case ".html", ".htm":
		c.page(text)
	case ".md", ".markdown", ".mdx":
		c.markdown(text)
	default:
		c.plain(text)
	}
	c.close()
	return c.title, c.passages
}

// cutDocument returns the title and the passages of a document. A passage ends with its page or its sheet.
func cutDocument(file string, d documents.Document) (title string, passages []passage) {
	c := cutter{file: file, title: cmp.Or(d.Title, strings.TrimSuffix(path.Base(file), path.Ext(file)))}
	// The only heading of the first level is the title if nothing else is; several are chapters.
	chapters := 0
	for _, p := range d.Parts {
		if p.Level == 1 {
			chapters++
		}
	}
	below := 1
	if d.Title == "" && chapters == 1 && d.Parts[0].Level == 1 && d.Parts[0].Sheet == "" {
		below = 0
	}
	for _, p := range d.Parts {
		if p.Page != c.pageNumber || p.Sheet != c.sheet {
			c.close()
			c.pageNumber, c.sheet = p.Page, p.Sheet
		}
		c.line = p.Line
		switch {
		case p.Level > 0:
			c.under(p.Level+below, p.Text)
		case p.Head != "" && (c.text.Len() == 0 || c.text.Len()+len(p.Text) > passageSize):
			c.close()
			c.add(p.Head+"\n"+p.Text, "\n\n")
		case p.Follows:
			c.add(p.Text, "\n")
		default:
			c.paragraph(p.Text)
		}
	}
	c.close()
	return c.title, c.passages
}

// A cutter assembles paragraphs into passages.
type cutter struct {
	file, title string
	titled      bool   // by a heading
	keywords    string // of the whole file
	// head is set directly after a heading, where a section may declare metadata; about holds it.
	head     bool
	about    passage
	headings []string // by level, down to the current one
	anchor   string
	line     int // of the current paragraph
	from     int // of the open passage
	last     int // the last of the open passage
	// pageNumber and sheet are where the current paragraph stands in a document that has them.
	pageNumber int
	sheet      string
	text       strings.Builder
	passages   []passage
}

// under starts a passage under a heading; its level is 1 or more.
func (c *cutter) under(level int, name string) {
	c.close()
	if level == 1 && (c.titled || len(c.passages) == 0) {
		c.title, c.titled = name, true
	}
	for len(c.headings) < level {
		c.headings = append(c.headings, "")
	}
	c.headings = append(c.headings[:level-1], name)
	c.anchor, c.about, c.head = anchorOf(name), passage{}, true
}

// metadata reads a line directly after a heading that describes the section.
func (c *cutter) metadata(line string) bool {
	name, value, _ := strings.Cut(line, ": ")
	switch {
	case !c.head || line == "":
	case name == "keywords":
		c.about.keywords = value
	case name == "source":
		c.about.source = value
	case name != "checked":
		c.head = false
	}
	return c.head
}

// paragraph adds a paragraph to the passage, and closes a full one.
func (c *cutter) paragraph(text string) { c.add(text, "\n\n") }

// add adds text to the passage, after a gap from what is there.
func (c *cutter) add(text, gap string) {
	text = strings.TrimSpace(text)
	for text != "" {
		piece := text
		if len(piece) > largestPassage {
			piece = piece[:lastBreak(piece[:largestPassage])]
		}
		if c.text.Len() > 0 && c.text.Len()+len(piece) > passageSize {
			c.close()
		}
		if c.text.Len() == 0 {
			c.from = c.line
		} else {
			c.text.WriteString(gap)
		}
		c.last = c.line
		c.text.WriteString(strings.TrimSpace(piece))
		text = strings.TrimSpace(text[len(piece):])
	}
}

// heading returns the heading above the open passage, "" without one.
func (c *cutter) heading() string {
	if len(c.headings) == 0 {
		return ""
	}
	return c.headings[len(c.headings)-1]
}

func (c *cutter) close() {
	if c.text.Len() == 0 {
		return
	}
	parts := []string{c.title}
	for _, h := range c.headings {
		if h != "" && h != c.title {
			parts = append(parts, h)
		}
	}
	if c.about.source != "" { // an article of its own
		parts = parts[len(parts)-1:]
	}
	last := 0
	if c.sheet != "" {
		last = c.last
	}
	c.passages = append(c.passages, passage{
		file: c.file, title: strings.Join(parts, " - "), heading: c.heading(), anchor: c.anchor, line: c.from, last: last, page: c.pageNumber, sheet: c.sheet, text: c.text.String(),
		keywords: strings.Trim(c.keywords+", "+c.about.keywords, ", "), source: c.about.source,
	})
	c.text.Reset()
}

// markdown reads headings, written with # or underlined, and paragraphs; a block between ``` is
// one paragraph.
func (c *cutter) markdown(text string) {
	var paragraph strings.Builder
	fenced, front := false, false
	n := 0
	for line := range strings.Lines(text) {
		n++
		plain := strings.TrimSpace(line)
		if n == 1 && plain == "---" || front { // front matter describes the file
			front = n == 1 || plain != "---"
			if title, ok := strings.CutPrefix(plain, "title:"); ok {
				c.title = strings.Trim(title, ` "'`)
			}
			if words, ok := strings.CutPrefix(plain, "keywords:"); ok {
				c.keywords = strings.Trim(words, ` []"'`)
			}
			continue
		}
		if strings.HasPrefix(plain, "```") || strings.HasPrefix(plain, "~~~") {
			fenced = !fenced
		}
		level := len(plain) - len(strings.TrimLeft(plain, "#"))
		isHeading := !fenced && level >= 1 && level <= 6 && strings.HasPrefix(plain[level:], " ")
		if isHeading || plain == "" && !fenced {
			c.paragraph(paragraph.String())
			paragraph.Reset()
		}
		switch {
		case !fenced && paragraph.Len() > 0 && isUnderline(plain):
			c.under(map[byte]int{'=': 1, '-': 2}[plain[0]], strings.Join(strings.Fields(paragraph.String()), " "))
			paragraph.Reset()
		case isHeading:
			name, id, named := strings.Cut(strings.Trim(plain[level:], " #"), " {#")
			c.under(level, name)
			if named {
				c.anchor = strings.TrimSuffix(id, "}")
			}
		case !fenced && c.metadata(plain):
		case plain != "" || fenced:
			if paragraph.Len() == 0 {
				c.line = n
			}
			paragraph.WriteString(line)
		}
	}
	c.paragraph(paragraph.String())
}

// isUnderline reports whether a line makes the text above it a heading.
func isUnderline(line string) bool {
	return len(line) >= 3 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "")
}

// plain reads paragraphs.
func (c *cutter) plain(text string) {
	var paragraph strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.TrimSpace(line) == "" {
			c.paragraph(paragraph.String())
			paragraph.Reset()
			continue
		}
		if paragraph.Len() == 0 {
			c.line = n
		}
		paragraph.WriteString(line)
	}
	c.paragraph(paragraph.String())
}

// page reads the headings and the text of an HTML page, without navigation and the like.
func (c *cutter) page(text string) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(text))
	if err != nil { // reading from memory does not fail
		return
	}
	if title := oneLine(doc.Find("title").First().Text()); title != "" {
		c.title = title
	}
	c.keywords, _ = doc.Find(`meta[name="keywords"]`).Attr("content")
	doc.Find("script, style, noscript, template, nav, header, footer, aside, form").Remove()
	doc.Find("h1, h2, h3, h4, h5, h6, p, li, dt, dd, td, th, pre, blockquote, figcaption").Each(func(_ int, s *goquery.Selection) {
		name, text := goquery.NodeName(s), oneLine(s.Text())
		switch {
		case text == "":
		case len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6':
			c.under(int(name[1]-'0'), text)
			if id, ok := s.Attr("id"); ok {
				c.anchor = id
			}
		case s.Find("p, li, td, dd, pre, blockquote").Length() == 0: // else what is inside is read
			c.paragraph(text)
		}
	})
	if c.text.Len() == 0 && len(c.passages) == 0 {
		c.paragraph(oneLine(doc.Find("body").Text()))
	}
}

// lastBreak returns where to cut a long text: after its last sentence or word.
func lastBreak(text string) int {
	for _, end := range []string{"\n", ". ", " "} {
		if at := strings.LastIndex(text, end); at > len(text)/2 {
			return at + len(end)
		}
	}
	at := len(text)
	for r, n := utf8.DecodeLastRuneInString(text[:at]); r == utf8.RuneError && n == 1 && at > 1; r, n = utf8.DecodeLastRuneInString(text[:at]) {
		at-- // not inside a character
	}
	return at
}

// anchorOf returns a heading as a URL fragment of Markdown pages.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

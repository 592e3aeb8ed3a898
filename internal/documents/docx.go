package documents

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A docx reads a document of Word.
type docx struct {
	x       *tokens
	styles  map[string]style
	numbers *numbering
	notes   map[string]string // footnotes and endnotes, by "footnote" or "endnote" and their id
	size    int               // bytes of text so far
	titled  bool              // whether it has headings
	title   string
	bold    []int // the numbers of brief bold paragraphs among the parts
}

// readDOCX reads what a person sees of a document of Word: the paragraphs, lists and tables of its body,
// with the notes at its feet; no comments, and of tracked changes the newest text.
func readDOCX(ctx context.Context, data []byte, b *builder) error {
	p, err := openPack(ctx, data, "document")
	if err != nil {
		return err
	}
	links, err := p.links(p.main)
	if err != nil {
		return err
	}
	d := &docx{notes: make(map[string]string)}
	if d.styles, err = readStyles(p, links.ofType("styles")); err != nil {
		return err
	}
	if d.numbers, err = readNumbering(p, links.ofType("numbering")); err != nil {
		return err
	}
	for _, kind := range []string{"footnote", "endnote"} {
		if err := d.readNotes(p, links.ofType(kind+"s"), kind); errors.Is(err, errFull) {
			return errBomb
		} else if err != nil {
			return err
		}
	}
	if d.x, err = p.xml(p.main, mostUnpacked); err != nil {
		return err
	}
	err = d.body(b)
	b.Title = d.title
	if !d.titled {
		d.promote(b.Parts)
	}
	return err
}

// body reads the blocks of the document one after the other, so that a document that is too long is read
// as far as it fits.
func (d *docx) body(b *builder) error {
	for {
		token, err := d.x.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		blocks, err := d.block(e)
		if added := d.add(b, blocks); added != nil {
			return added
		}
		if err != nil {
			return err
		}
	}
}

// A block is a part of the document with how it looks.
type block struct {
	Part
	bold bool
}

// add adds blocks to the document.
func (d *docx) add(b *builder, blocks []block) error {
	for _, block := range blocks {
		before := len(b.Parts)
		if err := b.add(block.Part); err != nil {
			return err
		}
		if block.bold && len(b.Parts) > before && isBrief(block.Part) {
			d.bold = append(d.bold, before)
		}
	}
	return nil
}

// isBrief reports whether a paragraph may be a heading that only its look marks.
func isBrief(p Part) bool {
	return p.Level == 0 && !p.Follows && utf8.RuneCountInString(p.Text) <= longestHeading && !strings.ContainsAny(p.Text, "\n") &&
		!strings.ContainsAny(p.Text[len(p.Text)-1:], ".,;")
}

// promote makes headings of the brief bold paragraphs of a document without any other heading.
func (d *docx) promote(parts []Part) {
	for i, at := range d.bold {
		parts[at].Level = 2
		if i+1 < len(d.bold) && d.bold[i+1] == at+1 { // it has a heading below it
			parts[at].Level = 1
		}
	}
}

// block reads the element that began last: a paragraph, a table, or one that holds some.
func (d *docx) block(e xml.StartElement) ([]block, error) {
	switch e.Name.Local {
	case "p":
		return d.paragraph()
	case "tbl":
		return d.table()
	case "del", "moveFrom", "Fallback", "sectPr", "sdtPr", "tblPr", "tcPr", "trPr":
		return nil, d.x.skip()
	}
	return nil, nil // what it holds is read next
}

// blocks reads all blocks within the element that began last.
func (d *docx) blocks() (all []block, err error) {
	err = d.x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		some, err := d.block(e)
		all = append(all, some...)
		return err
	})
	return all, err
}

// A paragraph is being read.
type paragraph struct {
	text        strings.Builder
	style       style
	outline     int // level of a heading that the paragraph sets itself, from 1
	list        string
	level       int
	plain, bold bool // whether it holds such text
	notes       []string
	boxes       []block
}

// paragraph reads a paragraph, and the boxes that hang on it.
func (d *docx) paragraph() ([]block, error) {
	p := &paragraph{style: d.styles[""]}
	p.list, p.level = p.style.list, p.style.listLevel
	err := d.inline(p)
	text := strings.TrimSpace(p.text.String())
	level := p.outline
	if level == 0 {
		level = p.style.heading
	}
	if text == "" || p.style.contents {
		return p.boxes, err
	}
	out := block{Part: Part{Text: text, Level: level}, bold: p.bold && !p.plain}
	if number := d.numbers.next(p.list, p.level); number != "" {
		out.Text = number + " " + text
		out.Follows = level == 0
		err = cmp.Or(err, d.count(len(number)))
	}
	if p.style.title && d.title == "" {
		d.title = oneLine(text)
		return p.boxes, err
	}
	d.titled = d.titled || out.Level > 0
	notes := strings.Join(p.notes, "")
	out.Text += notes
	return append([]block{out}, p.boxes...), cmp.Or(err, d.count(len(notes)))
}

// inline reads what is within a paragraph, or within a part of one.
func (d *docx) inline(p *paragraph) error {
	return d.x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "pPr":
			return d.properties(p)
		case "r":
			return d.run(p)
		case "t": // of a formula
			return d.chars(p, false)
		case "del", "moveFrom", "Fallback", "sdtPr", "rPr":
			return d.x.skip()
		case "txbxContent":
			return d.box(p)
		}
		return nil
	})
}

// properties reads the properties of a paragraph.
func (d *docx) properties(p *paragraph) error {
	return d.x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "pStyle":
			p.style = d.styles[attr(e, "val")]
			p.list, p.level = p.style.list, p.style.listLevel
		case "outlineLvl":
			p.outline = outlineLevel(attr(e, "val"))
		case "numId":
			p.list = attr(e, "val")
		case "ilvl":
			p.level, _ = strconv.Atoi(attr(e, "val"))
		case "rPr", "pPrChange", "sectPr":
			return d.x.skip()
		}
		return nil
	})
}

// run reads text of one look.
func (d *docx) run(p *paragraph) error {
	hidden, bold := false, p.style.bold
	return d.x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "b":
			bold = isOn(e)
		case "vanish":
			hidden = isOn(e)
		case "t":
			if hidden {
				return d.x.skip()
			}
			return d.chars(p, bold)
		case "tab":
			p.text.WriteByte(' ')
		case "br", "cr":
			p.text.WriteByte('\n')
		case "noBreakHyphen":
			p.text.WriteByte('-')
		case "footnoteReference", "endnoteReference":
			d.note(p, strings.TrimSuffix(e.Name.Local, "Reference"), attr(e, "id"))
		case "txbxContent":
			return d.box(p)
		case "delText", "instrText", "Fallback", "rPrChange", "ruby":
			return d.x.skip()
		}
		return nil
	})
}

// chars reads the text of the element that began last.
func (d *docx) chars(p *paragraph, bold bool) error {
	return d.x.within(func(token xml.Token) error {
		chars, ok := token.(xml.CharData)
		if !ok {
			return nil
		}
		if err := d.count(len(chars)); err != nil {
			return err
		}
		if len(strings.TrimSpace(string(chars))) > 0 {
			p.bold, p.plain = p.bold || bold, p.plain || !bold
		}
		p.text.Write(chars)
		return nil
	})
}

// count counts text that is kept, as a cell, a box or a note is collected before its parts are added.
func (d *docx) count(bytes int) error {
	if d.size += bytes; d.size > 2*largestText {
		return errFull
	}
	return nil
}

// note marks a note in the text, and adds it to the paragraph.
func (d *docx) note(p *paragraph, kind, id string) {
	text := d.notes[kind+id]
	if text == "" {
		return
	}
	delete(d.notes, kind+id) // a note belongs to one place
	p.text.WriteString("[*]")
	p.notes = append(p.notes, "\n[*] "+text)
}

// box reads a box of text, which stands below its paragraph.
func (d *docx) box(p *paragraph) error {
	blocks, err := d.blocks()
	p.boxes = append(p.boxes, blocks...)
	return err
}

// table reads a table.
func (d *docx) table() ([]block, error) {
	var rows []row
	above := make(map[int]cell) // the cells that go on downwards, by column
	err := d.x.within(func(token xml.Token) error {
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "tr" {
			r, err := d.row(above)
			rows = append(rows, r)
			return err
		}
		return nil
	})
	t := table{level: 6}
	parts, full := t.read(rows)
	blocks := make([]block, len(parts))
	for i, p := range parts {
		if p.Level > 0 {
			p.Level, blocks[i].bold = 0, true // a row across a table is no heading of the document
		}
		blocks[i].Part = p
	}
	return blocks, errors.Join(err, full)
}

// row reads a row of a table.
func (d *docx) row(above map[int]cell) (row, error) {
	var r row
	at := 0
	deleted := false
	err := d.x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "tblHeader":
			r.head = isOn(e)
		case "del":
			deleted = true
		case "gridBefore":
			n, _ := strconv.Atoi(attr(e, "val"))
			at = max(0, min(n, mostColumns))
		case "tc":
			c, goesOn, err := d.cell()
			c.at = at
			at = min(at+c.span, mostColumns)
			switch goesOn {
			case "continue":
				c.text = above[c.at].text
			case "restart":
				above[c.at] = c
			default:
				delete(above, c.at)
			}
			if c.text != "" && c.at < mostColumns {
				if err := d.count(len(c.text)); err != nil {
					return err
				}
				r.cells = append(r.cells, c)
			}
			return err
		}
		return nil
	})
	if deleted {
		r = row{}
	}
	return r, err
}

// cell reads a cell, and whether it goes on downwards: "restart" where it begins to, "continue" below.
func (d *docx) cell() (c cell, goesOn string, err error) {
	c.span = 1
	var text strings.Builder
	c.bold = true
	err = d.x.within(func(token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "gridSpan":
			n, _ := strconv.Atoi(attr(e, "val"))
			c.span = max(1, min(n, mostColumns))
			return nil
		case "vMerge":
			if goesOn = attr(e, "val"); goesOn == "" {
				goesOn = "continue"
			}
			return nil
		case "tcPr":
			return nil
		}
		blocks, err := d.block(e)
		for _, b := range blocks {
			if text.Len() > 0 {
				text.WriteString(joint(text.String()))
			}
			text.WriteString(oneLine(b.Text))
			c.bold = c.bold && (b.bold || b.Level > 0)
		}
		return err
	})
	c.text = text.String()
	c.bold = c.bold && c.text != ""
	return c, goesOn, err
}

// joint returns what separates a paragraph of a cell from the next one.
func joint(text string) string {
	if r, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".,;:!?-–/", r) {
		return " "
	}
	return ", "
}

// readNotes reads the notes of a file.
func (d *docx) readNotes(p *pack, name, kind string) error {
	x, err := p.xml(name, mostSmall)
	if errors.Is(err, errAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	d.x = x
	return x.each(func(e xml.StartElement) error {
		if e.Name.Local != kind || attr(e, "type") != "" { // the line above the notes has a type
			return nil
		}
		blocks, err := d.blocks()
		texts := make([]string, len(blocks))
		for i, b := range blocks {
			texts[i] = oneLine(b.Text)
		}
		d.notes[kind+attr(e, "id")] = strings.Join(texts, " ")
		return err
	})
}

// isOn reports whether a property that is on or off is on.
func isOn(e xml.StartElement) bool {
	switch attr(e, "val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

package documents

import (
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A style is what the look of a paragraph says about it.
type style struct {
	name, basedOn string
	heading       int  // level from 1, or 0
	title         bool // of the whole document
	contents      bool // a line of a table of contents
	bold          bool
	list          string // id of the list whose items have it
	listLevel     int
}

// readStyles returns the styles of a document by their ids, with the default one under "".
func readStyles(p *pack, name string) (map[string]style, error) {
	styles := make(map[string]style)
	x, err := p.xml(name, mostSmall)
	if errors.Is(err, errAbsent) {
		return styles, nil
	}
	if err != nil {
		return nil, err
	}
	var id string
	byDefault := ""
	err = x.each(func(e xml.StartElement) error {
		s := styles[id]
		switch e.Name.Local {
		case "style":
			id = attr(e, "styleId")
			if attr(e, "type") == "paragraph" && attr(e, "default") == "1" {
				byDefault = id
			}
			styles[id] = style{}
			return nil
		case "name":
			s.name = strings.ToLower(attr(e, "val"))
		case "basedOn":
			s.basedOn = attr(e, "val")
		case "outlineLvl":
			s.heading = outlineLevel(attr(e, "val"))
		case "b":
			s.bold = isOn(e)
		case "numId":
			s.list = attr(e, "val")
		case "ilvl":
			s.listLevel, _ = strconv.Atoi(attr(e, "val"))
		default:
			return nil
		}
		styles[id] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	resolved := make(map[string]style, len(styles))
	for id := range styles {
		resolved[id] = resolve(styles, id)
	}
	resolved[""] = resolved[byDefault]
	return resolved, nil
}

// headingName is the name of a style of headings in English or Vietnamese: other programs than Word
// translate it, and set no level.
var headingName = regexp.MustCompile(`^(?:heading|tiêu đề|đề mục) ?([1-9])$`)

// resolve returns a style with what it inherits.
func resolve(styles map[string]style, id string) style {
	s := styles[id]
	for base, steps := s, 0; steps < 20; steps++ {
		if m := headingName.FindStringSubmatch(base.name); m != nil && s.heading == 0 {
			s.heading, _ = strconv.Atoi(m[1])
		}
		s.title = s.title || base.name == "title" || base.name == "tiêu đề"
		s.contents = s.contents || strings.HasPrefix(base.name, "toc ")
		if base.basedOn == "" {
			break
		}
		if base = styles[base.basedOn]; s.heading == 0 {
			s.heading = base.heading
		}
		s.bold = s.bold || base.bold
		if s.list == "" {
			s.list, s.listLevel = base.list, base.listLevel
		}
	}
	return s
}

// outlineLevel returns the level of a heading for that of the outline, which begins at 0 and is 9 for text.
func outlineLevel(value string) int {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < 9 {
		return n + 1
	}
	return 0
}

const (
	mostLevels = 9
	// longestForm bounds the text around the number of an item, in bytes.
	longestForm = 100
)

// numbering writes the numbers of the items of lists, and of headings.
type numbering struct {
	lists  map[string]*list // by the id of a list
	counts map[*list]*[mostLevels]int
}

// A list is the form of the items of a list, by level.
type list struct {
	levels [mostLevels]listLevel
}

// A listLevel has the form of a number, such as "decimal", the text around it, such as "%1.%2.", and the
// first number.
type listLevel struct {
	form, text string
	start      int
}

// readNumbering reads the lists of a document.
func readNumbering(p *pack, name string) (*numbering, error) {
	n := &numbering{lists: make(map[string]*list), counts: make(map[*list]*[mostLevels]int)}
	x, err := p.xml(name, mostSmall)
	if errors.Is(err, errAbsent) {
		return n, nil
	}
	if err != nil {
		return nil, err
	}
	forms := make(map[string]*list)
	var form *list
	var level *listLevel
	var id string
	err = x.each(func(e xml.StartElement) error {
		value := attr(e, "val")
		switch e.Name.Local {
		case "abstractNum":
			form, level = &list{}, nil
			forms[attr(e, "abstractNumId")] = form
		case "num":
			id, form, level = attr(e, "numId"), nil, nil
		case "abstractNumId":
			if id != "" && forms[value] != nil {
				n.lists[id] = forms[value]
			}
		case "lvlOverride": // the list begins anew: it counts for itself
			if l := n.lists[id]; l != nil {
				own := *l
				n.lists[id] = &own
			}
		case "lvl":
			level = nil
			if at, err := strconv.Atoi(attr(e, "ilvl")); err == nil && form != nil && at >= 0 && at < mostLevels {
				level = &form.levels[at]
				level.start = 1
			}
		case "start":
			if level != nil {
				level.start, _ = strconv.Atoi(value)
			}
		case "numFmt":
			if level != nil {
				level.form = value
			}
		case "lvlText":
			if level != nil && len(value) <= longestForm {
				level.text = value
			}
		}
		return nil
	})
	return n, err
}

// next returns the number, or the dot, of the next item of a list; "" for text outside of lists.
func (n *numbering) next(id string, at int) string {
	l := n.lists[id]
	if l == nil || at < 0 || at >= mostLevels {
		return ""
	}
	counts := n.counts[l]
	if counts == nil {
		counts = new([mostLevels]int)
		for i := range counts {
			counts[i] = l.levels[i].start - 1
		}
		n.counts[l] = counts
	}
	counts[at]++
	for i := at + 1; i < mostLevels; i++ {
		counts[i] = l.levels[i].start - 1
	}
	level := l.levels[at]
	switch level.form {
	case "none", "":
		return ""
	case "bullet":
		return "-"
	}
	text := level.text
	for i := range at + 1 {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", i+1), numeral(l.levels[i].form, max(counts[i], 1)))
	}
	return text
}

// numeral writes a number in a form of Word.
func numeral(form string, n int) string {
	switch form {
	case "lowerLetter", "upperLetter":
		first := 'a'
		if form == "upperLetter" {
			first = 'A'
		}
		return strings.Repeat(string(first+rune((n-1)%26)), min((n-1)/26+1, 5))
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "decimalZero":
		return fmt.Sprintf("%02d", n)
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, d := range []struct {
		value int
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= d.value {
			n -= d.value
			b.WriteString(d.text)
		}
	}
	return b.String()
}

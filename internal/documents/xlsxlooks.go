package documents

import (
	"encoding/xml"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// longestFormat bounds the format of a number, in characters, as Excel does: each cell reads its format anew.
const longestFormat = 255

// looks tell how the cells of a workbook show their values.
type looks struct {
	formats   map[int]string // by id
	cells     []cellLook
	bold      []bool // by font
	since1904 bool
	// vietnamese is set if the workbook is written in Vietnamese, which groups digits by dots.
	vietnamese bool
}

type cellLook struct{ format, font int }

// builtIn are the formats that every workbook has. Those of the dates depend on the reader's machine: they
// are shown with the year first, which nobody misreads.
func builtIn(id int) string {
	switch id {
	case 1:
		return "0"
	case 2:
		return "0.00"
	case 3, 37, 38:
		return "#,##0"
	case 4, 39, 40:
		return "#,##0.00"
	case 9:
		return "0%"
	case 10:
		return "0.00%"
	case 14:
		return "yyyy-mm-dd"
	case 15:
		return "d-mmm-yy"
	case 16:
		return "d-mmm"
	case 17:
		return "mmm-yy"
	case 18:
		return "h:mm AM/PM"
	case 19:
		return "h:mm:ss AM/PM"
	case 20:
		return "h:mm"
	case 21:
		return "h:mm:ss"
	case 22:
		return "yyyy-mm-dd h:mm"
	case 41, 42:
		return "#,##0"
	case 43, 44:
		return "#,##0.00"
	case 45, 47:
		return "mm:ss"
	case 46:
		return "[h]:mm:ss"
	}
	return ""
}

// read reads the looks of a workbook.
func (l *looks) read(p *pack, name string) error {
	l.formats = make(map[int]string)
	x, err := p.xml(name, mostSmall)
	if errors.Is(err, errAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	in := "" // fonts or cellXfs
	return x.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "fonts", "cellXfs", "cellStyleXfs", "fills", "borders", "cellStyles", "dxfs":
			in = e.Name.Local
		case "numFmt":
			format := attr(e, "formatCode")
			if id, err := strconv.Atoi(attr(e, "numFmtId")); err == nil && utf8.RuneCountInString(format) <= longestFormat {
				l.formats[id] = format
			}
		case "font":
			if in == "fonts" {
				l.bold = append(l.bold, false)
			}
		case "b":
			if in == "fonts" && len(l.bold) > 0 {
				l.bold[len(l.bold)-1] = isOn(e)
			}
		case "xf":
			if in == "cellXfs" {
				format, _ := strconv.Atoi(attr(e, "numFmtId"))
				font, _ := strconv.Atoi(attr(e, "fontId"))
				l.cells = append(l.cells, cellLook{format, font})
			}
		}
		return nil
	})
}

func (l *looks) isBold(look int) bool {
	if look < 0 || look >= len(l.cells) {
		return false
	}
	font := l.cells[look].font
	return font >= 0 && font < len(l.bold) && l.bold[font]
}

// show returns a number as a cell of a look shows it.
func (l *looks) show(value string, look int) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return value
	}
	format := ""
	if look >= 0 && look < len(l.cells) {
		id := l.cells[look].format
		var ok bool
		if format, ok = l.formats[id]; !ok {
			format = builtIn(id)
		}
	}
	return l.format(n, format)
}

// format writes a number, or a date, in a format of Excel.
func (l *looks) format(n float64, format string) string {
	sections := splitFormat(format)
	section := sections[0]
	switch {
	case n < 0 && len(sections) > 1:
		section, n = sections[1], -n
	case n == 0 && len(sections) > 2:
		section = sections[2]
	}
	pieces := piecesOf(section)
	isDate, hasDigits := false, false
	for _, p := range pieces {
		isDate = isDate || p.kind == 'd'
		hasDigits = hasDigits || p.kind == '0'
	}
	switch {
	case isDate:
		return l.date(n, pieces)
	case !hasDigits && len(sections) > 1: // a text in the place of some numbers
		return l.number(n, pieces)
	case !hasDigits || strings.Contains(section, "E+") || strings.Contains(section, "?/"):
		return l.plain(n)
	}
	return l.number(n, pieces)
}

// plain returns a number as it is without a format.
func (l *looks) plain(n float64) string {
	s := strconv.FormatFloat(n, 'f', -1, 64)
	if math.Abs(n) >= 1e15 || n != 0 && math.Abs(n) < 1e-9 {
		s = strconv.FormatFloat(n, 'g', 10, 64)
	} else if _, behind, _ := strings.Cut(s, "."); len(behind) > 10 { // the rest is noise of binary fractions
		s = strings.TrimRight(strings.TrimRight(strconv.FormatFloat(n, 'f', 10, 64), "0"), ".")
	}
	return l.local(s)
}

// local writes the point of a number as the workbook's language does.
func (l *looks) local(s string) string {
	if l.vietnamese {
		return strings.Replace(s, ".", ",", 1)
	}
	return s
}

// A piece of a format is a literal text ('t'), the digits of a number ('0') or a part of a date ('d').
type piece struct {
	kind byte
	text string
}

// splitFormat splits a format at its semicolons.
func splitFormat(format string) (sections []string) {
	start, quoted := 0, false
	for i := 0; i < len(format); i++ {
		switch c := format[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && !quoted:
			i++
		case c == ';' && !quoted:
			sections = append(sections, format[start:i])
			start = i + 1
		}
	}
	return append(sections, format[start:])
}

// piecesOf returns the pieces of a section of a format.
func piecesOf(section string) (pieces []piece) {
	add := func(kind byte, text string) {
		if n := len(pieces); n > 0 && pieces[n-1].kind == kind && kind != 'd' {
			pieces[n-1].text += text
			return
		}
		pieces = append(pieces, piece{kind, text})
	}
	runes := []rune(section)
	has := func(i int, word string) bool { return string(runes[i:min(i+len(word), len(runes))]) == word }
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '"':
			end := i + 1
			for end < len(runes) && runes[end] != '"' {
				end++
			}
			add('t', string(runes[i+1:min(end, len(runes))]))
			i = end
		case r == '\\':
			if i++; i < len(runes) {
				add('t', string(runes[i]))
			}
		case r == '_': // a space as wide as the next character
			i++
			add('t', " ")
		case r == '*': // fills the cell with the next character
			i++
		case r == '[':
			end := i
			for end < len(runes) && runes[end] != ']' {
				end++
			}
			inside := string(runes[i+1 : min(end, len(runes))])
			switch {
			case strings.HasPrefix(inside, "$"): // a currency and a language
				symbol, _, _ := strings.Cut(inside[1:], "-")
				add('t', symbol)
			case strings.Trim(strings.ToLower(inside), "h") == "" && inside != "":
				add('d', "[h]")
			case strings.Trim(strings.ToLower(inside), "m") == "" && inside != "":
				add('d', "[m]")
			}
			i = end
		case strings.ContainsRune("0#?.,", r):
			add('0', string(r))
		case strings.ContainsRune("dmyhsDMYHS", r):
			end := i
			for end < len(runes) && strings.EqualFold(string(runes[end]), string(r)) {
				end++
			}
			add('d', strings.ToLower(string(runes[i:end])))
			i = end - 1
		case has(i, "AM/PM"):
			add('d', "am/pm")
			i += len("AM/PM") - 1
		case has(i, "General"):
			return nil
		default:
			add('t', string(r))
		}
	}
	return pieces
}

// number writes a number with the digits that a format asks for.
func (l *looks) number(n float64, pieces []piece) string {
	percent := false
	digits := ""
	for _, p := range pieces {
		if p.kind == 't' && strings.Contains(p.text, "%") {
			percent = true
		}
		if p.kind == '0' && digits == "" {
			digits = p.text
		}
	}
	if percent {
		n *= 100
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	for strings.HasSuffix(strings.TrimRight(digits, "."), ",") { // each comma at the end divides by a thousand
		digits = strings.TrimSuffix(strings.TrimRight(digits, "."), ",")
		n /= 1000
		whole, fraction, _ = strings.Cut(digits, ".")
	}
	least := strings.Count(fraction, "0")
	most := min(strings.Count(fraction, "0")+strings.Count(fraction, "#")+strings.Count(fraction, "?"), 15)
	s := strconv.FormatFloat(math.Abs(n), 'f', most, 64)
	before, behind, _ := strings.Cut(s, ".")
	for len(behind) > least && strings.HasSuffix(behind, "0") {
		behind = behind[:len(behind)-1]
	}
	for range min(strings.Count(whole, "0"), 20) - len(before) {
		before = "0" + before
	}
	if n == 0 && !strings.Contains(digits, "0") {
		before, behind = "", ""
	}
	group, point := ",", "."
	if l.vietnamese {
		group, point = ".", ","
	}
	if strings.Contains(whole, ",") {
		for at := len(before) - 3; at > 0; at -= 3 {
			before = before[:at] + group + before[at:]
		}
	}
	if behind != "" {
		before += point + behind
	}
	if n < 0 && strings.Trim(before, "0.,") != "" {
		before = "-" + before
	}
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.kind == 't':
			b.WriteString(p.text)
		case before != "":
			b.WriteString(before)
			before = ""
		}
	}
	return oneLine(b.String())
}

// date writes a date or a time of day. The number counts days.
func (l *looks) date(n float64, pieces []piece) string {
	if n < 0 || n > 2958465 { // the year 9999
		return l.plain(n)
	}
	days := n
	switch {
	case l.since1904:
		days += 1462
	case n < 60: // Excel has a 29 February 1900
		days++
	}
	seconds := math.Round(days * 24 * 60 * 60)
	at := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(seconds/86400)).Add(time.Duration(math.Mod(seconds, 86400)) * time.Second)
	noon := false
	for _, p := range pieces {
		noon = noon || p.text == "am/pm"
	}
	var b strings.Builder
	for i, p := range pieces {
		if p.kind != 'd' {
			b.WriteString(strings.ReplaceAll(p.text, "@", ""))
			continue
		}
		switch p.text {
		case "h":
			hour := at.Hour()
			if noon {
				hour = (hour+11)%12 + 1
			}
			b.WriteString(strconv.Itoa(hour))
		case "[h]":
			b.WriteString(strconv.Itoa(int(math.Round(n*86400)) / 3600))
		case "[m]":
			b.WriteString(strconv.Itoa(int(math.Round(n*86400)) / 60))
		default:
			b.WriteString(at.Format(layout(p.text, noon, isMinute(pieces, i))))
		}
	}
	return oneLine(b.String())
}

// layout returns a part of a date in the form of the package time.
func layout(part string, noon, minute bool) string {
	switch part {
	case "yyyy", "yyy":
		return "2006"
	case "yy", "y":
		return "06"
	case "mmmmm", "mmmm":
		return "January"
	case "mmm":
		return "Jan"
	case "mm", "m":
		layout := "01"
		if minute {
			layout = "04"
		}
		if part == "m" {
			layout = layout[1:]
		}
		return layout
	case "dddd":
		return "Monday"
	case "ddd":
		return "Mon"
	case "dd":
		return "02"
	case "d":
		return "2"
	case "hh":
		if noon {
			return "03"
		}
		return "15"
	case "ss":
		return "05"
	case "s":
		return "5"
	case "am/pm":
		return "PM"
	}
	return ""
}

// isMinute reports whether an "m" stands for minutes: after hours, or before seconds.
func isMinute(pieces []piece, i int) bool {
	for before := i - 1; before >= 0; before-- {
		if pieces[before].kind == 'd' {
			if strings.HasPrefix(pieces[before].text, "h") || pieces[before].text == "[h]" {
				return true
			}
			break
		}
	}
	for after := i + 1; after < len(pieces); after++ {
		if pieces[after].kind == 'd' {
			return strings.HasPrefix(pieces[after].text, "s")
		}
	}
	return false
}

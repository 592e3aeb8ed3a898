package documents

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// readCSV reads a table whose cells are separated by a comma, a semicolon, a tab or a bar.
func readCSV(ctx context.Context, data []byte, b *builder) error {
	text, err := Text(data)
	if err != nil {
		return err
	}
	comma := rune(0)
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(strings.ToLower(first), "sep=") && len(strings.TrimSpace(first)) == 5 {
		comma, text = rune(first[4]), rest // Excel writes it
	} else {
		comma = separator(text)
	}
	rows, stop := csvRows(ctx, text, comma)
	if stop != nil && !errors.Is(stop, errRows) && !errors.Is(stop, errRow) && !errors.Is(stop, errFull) {
		return stop
	}
	if len(rows) > 1 { // a file without a row of names is rare
		rows[0].head = len(rows[0].cells) > 1 && isHead(row{cells: rows[0].cells}, rows[1:], true) || isNames(rows[0])
	}
	t := table{level: 1, lines: true, plain: true}
	parts, full := t.read(rows)
	if err := b.add(parts...); err != nil {
		return err
	}
	if full != nil {
		return full
	}
	return stop
}

// csvRows reads rows up to the bounds: what they hold is no more than the text of a document.
func csvRows(ctx context.Context, text string, comma rune) (rows []row, err error) {
	r := newRecords(text, comma)
	size := 0
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		record, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case errors.Is(err, errBomb) && len(rows) == 0:
			return nil, fmt.Errorf("its first row is over %d MiB", largestToken>>20)
		case errors.Is(err, errBomb): // perhaps a quote that is not ended
			return rows, errRow
		case err != nil:
			return nil, errDamaged
		}
		one := row{line: number}
		for at, text := range record[:min(len(record), mostColumns)] {
			if text = strings.TrimSpace(text); text != "" {
				one.cells = append(one.cells, cell{at: at, span: 1, text: text})
				size += len(text) + len("; ")
			}
		}
		rows = append(rows, one)
		switch {
		case len(rows) >= mostRows:
			return rows, errRows
		case size > largestText:
			return rows, errFull
		}
	}
}

// isNames reports whether no cell of a row is a value.
func isNames(r row) bool {
	for _, c := range r.cells {
		if isValue(c.text) || len(c.text) > longestName || strings.ContainsAny(c.text, "@\n") {
			return false
		}
	}
	return len(r.cells) > 1
}

// records are the records of a table.
type records struct {
	csv *csv.Reader
	in  *countingReader
}

func newRecords(text string, comma rune) records {
	in := &countingReader{Reader: strings.NewReader(text)}
	r := csv.NewReader(in)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = comma, true, -1, true
	return records{r, in}
}

// next returns the next record, which is used up to the next call; the error is errBomb for one that is too large.
func (r records) next() ([]string, error) {
	r.in.n = 0
	return r.csv.Read() //nolint:wrapcheck // io.EOF
}

// separator returns the character that separates the cells: the one that gives most rows at the beginning
// the same number of cells, and if several do, the most cells.
func separator(text string) rune {
	const look, beginning = 20, 256 << 10
	text = text[:min(len(text), beginning)]
	best, most := ',', 0
	for _, comma := range ",;\t|" {
		r := newRecords(text, comma)
		times := make(map[int]int)
		for range look {
			record, err := r.next()
			if err != nil {
				break
			}
			if len(record) > 1 {
				times[len(record)]++
			}
		}
		for cells, n := range times {
			if score := n*1000 + cells; score > most {
				best, most = comma, score
			}
		}
	}
	return best
}

// Text returns the text of a file that is nothing else: in UTF-8, in UTF-16 if it begins with a byte order
// mark, else in the 8-bit encoding of Windows for Vietnamese or for western Europe. It fails if the file
// holds no text.
func Text(data []byte) (string, error) {
	var text string
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		text = fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		text = fromUTF16(data[2:], binary.BigEndian)
	default:
		data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
		if text = string(data); !isUTF8(text) {
			text = fromWindows(data)
		}
	}
	if strings.Contains(text, "\x00") {
		return "", errors.New("its content is no text")
	}
	return norm.NFC.String(strings.ToValidUTF8(text, " ")), nil
}

// isUTF8 reports whether a text is in UTF-8, perhaps with a few bytes that are not.
func isUTF8(s string) bool {
	if utf8.ValidString(s) {
		return true
	}
	good, bad := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		i += n
	}
	return good > bad
}

func fromUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// fromWindows decodes a text in Windows-1258 if it has letters and, after them, tones of Vietnamese, which
// that encoding writes as characters of their own, else in Windows-1252.
func fromWindows(data []byte) string {
	tones := 0
	for i := 1; i < len(data); i++ {
		if bytes.IndexByte([]byte("\xCC\xD2\xDE\xEC\xF2"), data[i]) >= 0 && isVowel(data[i-1]) {
			tones++
		}
	}
	encoding := charmap.Windows1252
	if tones > 0 && hasAny(data, "\xD0\xD5\xDD\xF0\xF5\xFD") {
		encoding = charmap.Windows1258
	}
	decoded, err := encoding.NewDecoder().Bytes(data)
	if err != nil { // no byte is invalid
		return strings.ToValidUTF8(string(data), " ")
	}
	return string(decoded)
}

// isVowel reports whether a byte of Windows-1258 is a letter that can carry a tone.
func isVowel(b byte) bool {
	return bytes.IndexByte([]byte("aeiouyAEIOUY\xE2\xEA\xF4\xE3\xF5\xFD\xC2\xCA\xD4\xC3\xD5\xDD"), b) >= 0
}

func hasAny(data []byte, some string) bool {
	for i := range len(some) {
		if bytes.IndexByte(data, some[i]) >= 0 {
			return true
		}
	}
	return false
}

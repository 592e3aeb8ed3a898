// Package documents reads the text of documents as people have them: of Word, of workbooks, of tables
// separated by commas, and, by a program that converts them, of PDF and of any other kind. What it reads
// may come from anybody: a document costs bounded time and memory, whatever it holds. Only on Linux is the memory
// of the programs bounded too.
package documents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// Largest bounds a document, in bytes.
	Largest = 64 << 20
	// largestText bounds the text that is read of a document, in bytes, and mostRows the rows of its tables.
	largestText = 8 << 20
	mostRows    = 50_000
	// timeLimit bounds how long a document is read.
	timeLimit = time.Minute
	// atOnce is how many documents are converted at the same time, and longestWait bounds how long another waits
	// for them before its own time begins.
	atOnce      = 2
	longestWait = 2 * timeLimit
)

// A Document is the text of a document, in its order.
type Document struct {
	// Title is the title that the document gives itself, if any.
	Title string
	Parts []Part
	// Left says what is left out of a document that is read in part; it is empty for others.
	Left string
}

// A Part is a heading, a paragraph, an item of a list or a row of a table.
type Part struct {
	// Level is that of a heading, 1 for the highest, and 0 for other texts.
	Level int
	Text  string
	// Head is the row with the names of the columns of a table whose rows do not repeat them; it belongs
	// above a row that is read alone.
	Head string
	// Follows is set for an item or a row that goes on from the part before it.
	Follows bool
	// Page counts the pages of a PDF, Line the rows of a table of its own, both from 1; Sheet names that of
	// a workbook. They are empty where a document has none.
	Page, Line int
	Sheet      string
}

// String returns the whole text, with its pages and sheets marked.
func (d Document) String() string {
	var b strings.Builder
	if d.Title != "" {
		b.WriteString("# " + d.Title + "\n")
	}
	page, sheet := 0, ""
	for _, p := range d.Parts {
		switch {
		case p.Page != page:
			page = p.Page
			fmt.Fprintf(&b, "\n[page %d]\n", page)
		case p.Sheet != sheet:
			sheet = p.Sheet
			fmt.Fprintf(&b, "\n[sheet %s]\n", sheet)
		}
		switch {
		case p.Level > 0:
			b.WriteString("\n" + strings.Repeat("#", min(p.Level, 6)) + " " + p.Text + "\n")
		case p.Follows:
			b.WriteString(p.Text + "\n")
		default:
			b.WriteString("\n" + p.Text + "\n")
		}
	}
	if d.Left != "" {
		b.WriteString("\n[" + d.Left + "]\n")
	}
	return strings.TrimSpace(b.String())
}

// Config says how documents are converted.
type Config struct {
	// Convert are the programs that print the text of documents, with their arguments, by the ending of
	// the name without its dot. The argument "{}" stands for the document's path. PDF is converted
	// by pdftotext if Convert does not name another program.
	Convert map[string][]string
}

// A Reader reads documents. It is safe for concurrent use.
type Reader struct {
	convert map[string][]string
	slots   chan struct{}
}

// New returns a reader.
func New(cfg Config) (*Reader, error) {
	r := &Reader{convert: map[string][]string{"pdf": {"pdftotext", "-layout", place, "-"}}, slots: make(chan struct{}, atOnce)}
	for ending, command := range cfg.Convert {
		if len(command) == 0 || !strings.Contains(strings.Join(command[1:], " "), place) {
			return nil, fmt.Errorf(`convert %q: want a program and its arguments, one of them with "{}"`, ending)
		}
	}
	maps.Copy(r.convert, cfg.Convert)
	return r, nil
}

// Kinds returns the endings of the names of documents that are read if their programs are there.
func (r *Reader) Kinds() []string {
	kinds := []string{".docx", ".docm", ".xlsx", ".xlsm", ".csv", ".tsv"}
	for ending := range r.convert {
		if kind := "." + ending; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// ErrUnknown is the error for a document of a kind that nothing reads.
var ErrUnknown = errors.New("files of this kind are not read")

// Check returns why no document of this name can be read at present: nil if one can.
func (r *Reader) Check(name string) error {
	kind := kindOf(name)
	if command, ok := r.convert[kind]; ok {
		return missing(kind, command[0])
	}
	switch kind {
	case "docx", "docm", "xlsx", "xlsm", "csv", "tsv":
		return nil
	case "doc", "dot":
		return errors.New("an old file of Word: save it as .docx")
	case "xls", "xlt":
		return errors.New("an old file of Excel: save it as .xlsx")
	case "ppt", "pptx", "odt", "ods", "odp", "rtf", "epub", "pages":
		return fmt.Errorf("no program reads .%s: name one in convert, or save it as PDF", kind)
	}
	return ErrUnknown
}

// IsDocument reports whether people call a file of this name a document, whether it can be read or not.
func IsDocument(name string) bool {
	switch kindOf(name) {
	case "pdf", "docx", "docm", "xlsx", "xlsm", "csv", "tsv", "doc", "xls", "ppt", "pptx", "odt", "ods", "odp", "rtf", "epub":
		return true
	}
	return false
}

// Converts reports whether a program converts the documents of this name, which takes longer than reading.
func (r *Reader) Converts(name string) bool { return r.convert[kindOf(name)] != nil }

// Read returns the text of a document. The error says why it has none, in words for its owner.
func (r *Reader) Read(ctx context.Context, name string, data []byte) (Document, error) {
	if err := r.Check(name); err != nil {
		return Document{}, err
	}
	switch {
	case len(data) == 0:
		return Document{}, errors.New("it is empty")
	case len(data) > Largest:
		return Document{}, fmt.Errorf("over %d MiB", Largest>>20)
	}
	b := &builder{}
	err := r.read(ctx, kindOf(name), data, b)
	switch {
	case errors.Is(err, errFull):
		b.Left = fmt.Sprintf("only its first %d MiB of text are read", largestText>>20)
	case errors.Is(err, errRows):
		b.Left = fmt.Sprintf("only its first %d rows are read", mostRows)
	case errors.Is(err, errRow):
		b.Left = fmt.Sprintf("only its rows before one of over %d MiB are read", largestToken>>20)
	case errors.Is(err, errPages):
		b.Left = fmt.Sprintf("only its first %d pages or %d lines are read", mostPages, mostLines)
	case errors.Is(err, context.DeadlineExceeded):
		return Document{}, fmt.Errorf("it could not be read within %d seconds", int(timeLimit.Seconds()))
	case err != nil:
		return Document{}, err
	}
	if !slices.ContainsFunc(b.Parts, func(p Part) bool { return p.Level == 0 }) {
		return Document{}, errors.New("it holds no text")
	}
	return b.Document, nil
}

func (r *Reader) read(ctx context.Context, kind string, data []byte, b *builder) error {
	if command, ok := r.convert[kind]; ok {
		return r.converted(ctx, kind, command, data, b)
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	switch kind {
	case "docx", "docm":
		return readDOCX(ctx, data, b)
	case "xlsx", "xlsm":
		return readXLSX(ctx, data, b)
	}
	return readCSV(ctx, data, b)
}

// kindOf returns the ending of a name, in small letters and without its dot.
func kindOf(name string) string {
	return strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
}

// A document is read in part if it is full, or has too many rows or pages or too large a row.
var (
	errFull  = errors.New("too much text")
	errRows  = errors.New("too many rows")
	errRow   = errors.New("too large a row")
	errPages = errors.New("too many pages or lines")
)

// A builder collects the parts of a document up to the bounds.
type builder struct {
	Document
	size, rows int
}

// add adds parts. Headings without a text and empty paragraphs are left out.
func (b *builder) add(parts ...Part) error {
	for _, p := range parts {
		if p.Text = strings.Trim(clean(p.Text), "\n"); strings.TrimSpace(p.Text) == "" {
			continue
		}
		if b.size += len(p.Text) + len(p.Head); b.size > largestText {
			return errFull
		}
		if p.Level > 0 {
			p.Text = oneLine(p.Text)
		}
		b.Parts = append(b.Parts, p)
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

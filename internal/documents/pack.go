package documents

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	// mostEntries bounds the files of a packed document, mostUnpacked what is unpacked of all of them, and
	// mostSmall what is unpacked of one that only describes others.
	mostEntries  = 5000
	mostUnpacked = 96 << 20
	mostSmall    = 16 << 20
	// A file of more than suspicious bytes that is mostRatio times as large as when packed is a trap.
	suspicious = 1 << 20
	mostRatio  = 300
	// mostDepth bounds the elements within each other, and largestToken the bytes of one tag or text, or of one row of a CSV.
	mostDepth    = 400
	largestToken = 4 << 20
)

var (
	errProtected = errors.New("protected by a password: save it without one")
	errBomb      = errors.New("it unpacks to far more than a document holds")
	errDamaged   = errors.New("it is damaged or cut off")
)

// A pack is a document that is a zip file of XML files, as those of Office are.
type pack struct {
	ctx   context.Context //nolint:containedctx // of the one call that reads it
	files map[string]*zip.File
	left  int64 // bytes that may still be unpacked
	main  string
}

// openPack opens a document whose main file has the given root element, such as "workbook".
func openPack(ctx context.Context, data []byte, root string) (*pack, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0")):
		if bytes.Contains(data, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e")) {
			return nil, errProtected
		}
		return nil, errors.New("an old file of Office under the name of a new one: open it, and save it as .docx or .xlsx")
	case !bytes.HasPrefix(data, []byte("PK")):
		return nil, errors.New("its content is not what its name says: open it with its program, and save it anew")
	case bytes.Count(data, []byte("PK\x01\x02")) > mostEntries:
		return nil, errBomb
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, errDamaged
	}
	p := &pack{ctx: ctx, files: make(map[string]*zip.File), left: mostUnpacked}
	for _, f := range z.File {
		if f.Flags&1 != 0 {
			return nil, errProtected
		}
		if name := partName(f.Name); p.files[name] == nil {
			p.files[name] = f
		}
	}
	links, err := p.links("")
	if err != nil {
		return nil, err
	}
	p.main = links.ofType("officeDocument")
	x, err := p.xml(p.main, mostUnpacked)
	if err != nil {
		return nil, err
	}
	first, err := x.root()
	switch {
	case err != nil:
		return nil, err
	case first != root:
		return nil, fmt.Errorf("its content is not what its name says: it is a %s", first)
	}
	return p, nil
}

// partName returns the path of a file within a pack in the form in which it is looked up.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

// links are the files to which a file of a pack refers, by their ids.
type links struct {
	byID   map[string]string
	byType map[string]string // the first of each type
}

// ofType returns the first file of a type, given by the end of its name; "" without one.
func (l links) ofType(name string) string { return l.byType[name] }

// links returns the links of a file, or of the whole pack for "".
func (p *pack) links(name string) (links, error) {
	l := links{make(map[string]string), make(map[string]string)}
	rels := path.Join(path.Dir(name), "_rels", path.Base(name)+".rels")
	if name == "" {
		rels = "_rels/.rels"
	}
	x, err := p.xml(rels, mostSmall)
	if errors.Is(err, errAbsent) && name != "" {
		return l, nil
	} else if err != nil {
		return l, err
	}
	err = x.each(func(e xml.StartElement) error {
		target := attr(e, "Target")
		if e.Name.Local != "Relationship" || target == "" || attr(e, "TargetMode") == "External" {
			return nil
		}
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(name), target)
		}
		target = partName(target)
		l.byID[attr(e, "Id")] = target
		kind := attr(e, "Type")
		if kind = kind[strings.LastIndexByte(kind, '/')+1:]; l.byType[kind] == "" {
			l.byType[kind] = target
		}
		return nil
	})
	return l, err
}

// errAbsent is the error for a file that a pack does not hold.
var errAbsent = fmt.Errorf("%w: a part of it is missing", errDamaged)

// xml returns the tokens of a file of the pack, up to a number of bytes.
func (p *pack) xml(name string, most int64) (*tokens, error) {
	f := p.files[name]
	if f == nil || name == "" {
		return nil, errAbsent
	}
	content, err := f.Open()
	if err != nil {
		return nil, errDamaged
	}
	in := &unpacking{from: content, pack: p, most: most, packed: int64(f.CompressedSize64)} //nolint:gosec // a lie is found by reading
	return newTokens(p.ctx, in), nil
}

// unpacking unpacks a file within the bounds.
type unpacking struct {
	from         io.Reader
	pack         *pack
	most, packed int64
	read         int64
}

func (u *unpacking) Read(b []byte) (int, error) {
	n, err := u.from.Read(b)
	u.read += int64(n)
	u.pack.left -= int64(n)
	if u.pack.left < 0 || u.read > u.most || u.read > suspicious && u.read/mostRatio > u.packed {
		return 0, errBomb
	}
	return n, err //nolint:wrapcheck // io.EOF
}

// tokens are the tags and texts of an XML file.
type tokens struct {
	ctx   context.Context //nolint:containedctx // of the one call that reads them
	xml   *xml.Decoder
	in    *countingReader
	depth int
}

type countingReader struct {
	io.Reader
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	if c.n > largestToken {
		return 0, errBomb
	}
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err //nolint:wrapcheck // io.EOF
}

func newTokens(ctx context.Context, r io.Reader) *tokens {
	in := &countingReader{Reader: r}
	return &tokens{ctx: ctx, xml: xml.NewDecoder(in), in: in}
}

// next returns the next token; the error is [io.EOF] after the last one.
func (x *tokens) next() (xml.Token, error) {
	if err := x.ctx.Err(); err != nil {
		return nil, err
	}
	x.in.n = 0
	token, err := x.xml.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errBomb):
		return nil, err
	case err != nil:
		return nil, errDamaged
	}
	switch token.(type) {
	case xml.StartElement:
		if x.depth++; x.depth > mostDepth {
			return nil, errBomb
		}
	case xml.EndElement:
		x.depth--
	case xml.Directive: // no document needs one, and one could declare entities
		return nil, errors.New("its XML has a document type, which no document needs")
	}
	return token, nil
}

// root returns the name of the first element.
func (x *tokens) root() (string, error) {
	for {
		token, err := x.next()
		if errors.Is(err, io.EOF) {
			err = errDamaged
		}
		if err != nil {
			return "", err
		}
		if e, ok := token.(xml.StartElement); ok {
			return e.Name.Local, nil
		}
	}
}

// each calls visit for each element.
func (x *tokens) each(visit func(xml.StartElement) error) error {
	for {
		token, err := x.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if e, ok := token.(xml.StartElement); ok && err == nil {
			err = visit(e)
		}
		if err != nil {
			return err
		}
	}
}

// within calls visit for each token up to the end of the element that began last. visit may read on.
func (x *tokens) within(visit func(xml.Token) error) error {
	for outer := x.depth - 1; ; {
		token, err := x.next()
		if errors.Is(err, io.EOF) {
			return errDamaged
		}
		if err != nil {
			return err
		}
		if x.depth == outer {
			return nil
		}
		if err := visit(token); err != nil {
			return err
		}
	}
}

// skip reads to the end of the element that began last.
func (x *tokens) skip() error {
	return x.within(func(xml.Token) error { return nil })
}

// attr returns an attribute of an element by its local name.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

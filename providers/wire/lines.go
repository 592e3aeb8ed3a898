package wire

import (
	"bytes"
	"errors"
	"io"
)

// Sizes of the line buffer. A call's arguments can come in one line, so lines can be
// long; nearly all are not.
const (
	startLine = 1 << 10
	maxLine   = 8 << 20
)

// ErrLong says that one message of a stream is longer than any sane one.
var ErrLong = errors.New("a message of the stream is longer than 8 MB")

// Lines cuts a stream into lines. Its buffer starts small and grows with the longest
// line, up to 8 MB.
type Lines struct {
	src  io.Reader
	buf  []byte
	r, w int   // buf[r:w] is read and not yet handed out
	seen int   // how much of buf[r:w] is known to hold no line end
	err  error // what ended the source
	// Cut is set when the line returned last had no end.
	Cut bool
}

// NewLines returns the lines of a stream.
func NewLines(src io.Reader) *Lines { return &Lines{src: src, buf: make([]byte, startLine)} }

// Next returns the next line without its end, LF or CRLF. It is valid until the next
// call. A last line without an end is returned too; then, and for ever, the error of the
// source comes, io.EOF for a clean end.
func (l *Lines) Next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.r+l.seen:l.w], '\n'); i >= 0 {
			line := l.buf[l.r : l.r+l.seen+i]
			l.r += l.seen + i + 1
			l.seen = 0
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		l.seen = l.w - l.r
		if l.err != nil {
			line := l.buf[l.r:l.w]
			l.r, l.seen = l.w, 0
			if len(line) > 0 {
				l.Cut = true
				return line, nil
			}
			return nil, l.err
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// NextFull is Next without the lines that are blank.
func (l *Lines) NextFull() ([]byte, error) {
	for {
		line, err := l.Next()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// fill reads more, after making room for it.
func (l *Lines) fill() error {
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r = 0
	}
	if l.w == len(l.buf) {
		if len(l.buf) >= maxLine {
			return ErrLong
		}
		bigger := make([]byte, min(2*len(l.buf), maxLine))
		copy(bigger, l.buf)
		l.buf = bigger
	}
	n, err := l.src.Read(l.buf[l.w:])
	l.w += n
	l.err = err
	return nil
}

// First returns the first byte that is no blank, and leaves it to be read.
func (l *Lines) First() (byte, error) {
	for {
		for ; l.r < l.w; l.r++ {
			if c := l.buf[l.r]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				return c, nil
			}
		}
		if l.err != nil {
			return 0, l.err
		}
		if err := l.fill(); err != nil {
			return 0, err
		}
	}
}

// All reads what is left, up to 8 MB.
func (l *Lines) All() ([]byte, error) {
	rest := io.MultiReader(bytes.NewReader(l.buf[l.r:l.w]), l.src)
	if l.err != nil {
		rest = bytes.NewReader(l.buf[l.r:l.w])
	}
	data, err := io.ReadAll(io.LimitReader(rest, maxLine+1))
	if err == nil && len(data) > maxLine {
		err = ErrLong
	}
	return data, err
}

package ollama

import (
	"bytes"
	"errors"
	"io"
)

// Sizes of the line buffer. A call's arguments come in one line, so lines can be
// long; nearly all are not.
const (
	startLine = 1 << 10
	maxLine   = 8 << 20
	// maxRest is how much may follow the last line.
	maxRest = 4 << 10
)

// errLongLine says that a line is longer than any sane message.
var errLongLine = errors.New("a line of the stream is longer than 8 MB")

// A lineReader cuts a stream into lines. Its buffer starts small and grows with
// the longest line, up to maxLine.
type lineReader struct {
	src  io.Reader
	buf  []byte
	r, w int   // buf[r:w] is read and not yet handed out
	seen int   // how much of buf[r:w] is known to hold no line end
	err  error // what ended the source
	cut  bool  // the line returned last had no end
}

func newLineReader(src io.Reader) *lineReader {
	return &lineReader{src: src, buf: make([]byte, startLine)}
}

// next returns the next line that is not blank, without its end. The line is
// valid until the next call. A last line without an end is returned too; then,
// and for ever, the error of the source comes, io.EOF for a clean end.
func (l *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.r+l.seen:l.w], '\n'); i >= 0 {
			line := l.buf[l.r : l.r+l.seen+i]
			l.r += l.seen + i + 1
			l.seen = 0
			if line = bytes.TrimSpace(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		l.seen = l.w - l.r
		if l.err != nil {
			line := bytes.TrimSpace(l.buf[l.r:l.w])
			l.r, l.seen = l.w, 0
			if len(line) > 0 {
				l.cut = true
				return line, nil
			}
			return nil, l.err
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more, after making room for it.
func (l *lineReader) fill() error {
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r = 0
	}
	if l.w == len(l.buf) {
		if len(l.buf) >= maxLine {
			return errLongLine
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

// drain reads what little may follow the last line, so that the connection can
// be used again.
func (l *lineReader) drain() {
	if l.err == nil {
		_, l.err = io.CopyN(io.Discard, l.src, maxRest)
	}
}

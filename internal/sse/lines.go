package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// Sizes of the buffer in bytes. Nearly all lines are short, and a program may hold
// thousands of streams open.
const (
	startBuffer = 1 << 10
	keepBuffer  = 256 << 10 // a larger buffer is not reused for the next line
)

// ErrLong is the error of a stream with a message that is longer than [Config.Limit].
var ErrLong = errors.New("a message of the stream is longer than its limit")

// Config configures limits and syntax.
type Config struct {
	// Limit is the length of the longest line, including its end, and of the longest data of an
	// event, in bytes.
	Limit int
	// Keep is the number of bytes that are kept of each end of a longer line or longer data, at
	// most half of the limit. 0 ends the stream with [ErrLong] instead.
	Keep int
	// Lenient makes [Events] accept deviations from the syntax that services send.
	Lenient bool
}

// Ends are the first and the last bytes of a line or data over the limit.
type Ends struct{ Head, Tail []byte }

func newEnds(text []byte, keep int) *Ends {
	return &Ends{Head: bytes.Clone(text[:min(len(text), keep)]), Tail: bytes.Clone(last(text, keep))}
}

// add appends to the tail.
func (e *Ends) add(more []byte, keep int) { e.Tail = last(append(e.Tail, last(more, keep)...), keep) }

func last(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// A Line is one line of a stream.
type Line struct {
	// Text is the line without its end. It is valid until the next line is read.
	Text []byte
	// Long holds the ends of a line over the limit; then Text is empty.
	Long *Ends
	// Cut is set if the stream ended inside the line.
	Cut bool
}

// Lines yields lines that end with LF or CRLF. The last one needs no line end, even if an error
// ends the stream. An error of src is yielded once, at the end, except [io.EOF]. A later range
// continues where the previous one stopped.
func Lines(src io.Reader, c Config) iter.Seq2[Line, error] {
	l := newLines(src, c, false)
	return func(yield func(Line, error) bool) {
		for {
			text, long, err := l.next()
			if err == io.EOF { //nolint:errorlint // readers return it unwrapped
				return
			}
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !yield(Line{text, long, l.cut}, nil) {
				return
			}
		}
	}
}

// lines splits a stream into lines. Its buffer grows with the longest line.
type lines struct {
	src       io.Reader
	c         Config
	splitAtCR bool // a single CR also ends a line

	buf     []byte
	r, w    int   // buf[r:w] is read but not returned yet
	scanned int   // length of the part of buf[r:w] that contains no line end
	begin   int   // start of the last returned line
	afterCR bool  // that line ended with CR, which LF may follow
	cut     bool  // that line has no line end
	err     error // the error of the source, once it has ended
}

func newLines(src io.Reader, c Config, returns bool) lines {
	return lines{src: src, c: c, splitAtCR: returns, buf: make([]byte, min(startBuffer, c.Limit))}
}

// next returns the next line, or the ends of a long one. After the last line, every call returns
// the error of the source.
func (l *lines) next() (text []byte, long *Ends, err error) {
	for {
		if i := l.end(); i >= 0 {
			text, lf := l.buf[l.r:i], l.buf[i] == '\n'
			skip := l.afterCR && lf && len(text) == 0
			l.begin, l.r, l.scanned, l.afterCR = l.r, i+1, 0, !lf
			if !lf && l.r < l.w && l.buf[l.r] == '\n' { // CRLF
				l.r, l.afterCR = l.r+1, false
			}
			if skip {
				continue
			}
			if !l.splitAtCR {
				text = bytes.TrimSuffix(text, []byte("\r"))
			}
			return l.finish(text, long)
		}
		l.scanned = l.w - l.r
		if l.scanned >= l.room(long) {
			if l.c.Keep == 0 {
				return nil, nil, ErrLong
			}
			if long == nil {
				long = newEnds(l.buf[l.r:l.w], l.c.Keep)
			}
			l.r, l.scanned = l.w-l.c.Keep, l.c.Keep
		}
		if l.err == nil {
			l.fill()
			continue
		}
		text := l.buf[l.r:l.w]
		l.begin, l.r, l.scanned = l.r, l.w, 0
		if len(text) == 0 {
			return nil, nil, l.err
		}
		l.cut = true
		return l.finish(text, long)
	}
}

func (l *lines) finish(text []byte, long *Ends) ([]byte, *Ends, error) {
	if long != nil {
		long.Tail, text = bytes.Clone(last(text, l.c.Keep)), nil
	}
	return text, long, nil
}

// room returns how many bytes of a line are buffered at most.
func (l *lines) room(long *Ends) int {
	if long != nil {
		return min(l.c.Limit, 16*l.c.Keep)
	}
	return l.c.Limit
}

// end returns the index of the line end in the buffer, or -1.
func (l *lines) end() int {
	from := l.r + l.scanned
	rest := l.buf[from:l.w]
	i := bytes.IndexByte(rest, '\n')
	if i >= 0 {
		rest = rest[:i]
	}
	if l.splitAtCR {
		if j := bytes.IndexByte(rest, '\r'); j >= 0 {
			i = j
		}
	}
	if i < 0 {
		return -1
	}
	return from + i
}

// unread makes next return the last line again.
func (l *lines) unread() { l.r = l.begin }

// fill makes room in the buffer and reads into it.
func (l *lines) fill() {
	rest, size := l.buf[l.r:l.w], len(l.buf)
	switch {
	case len(rest) == size:
		size = min(2*size, l.c.Limit)
	case size > keepBuffer && len(rest) <= keepBuffer/4:
		size = keepBuffer / 2
	}
	if size != len(l.buf) {
		l.buf = make([]byte, size)
	}
	l.r, l.w = 0, copy(l.buf, rest)
	for range 100 {
		n, err := l.src.Read(l.buf[l.w:])
		if l.w += n; n > 0 || err != nil {
			l.err = err
			return
		}
	}
	l.err = io.ErrNoProgress
}

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
	keepBuffer  = 256 << 10 // a larger one is not kept for the next line
)

// ErrLong ends a stream one of whose messages is longer than [Config.Limit].
var ErrLong = errors.New("a message of the stream is longer than its limit")

// Config bounds what is read, and says what is taken for an event.
type Config struct {
	// Limit is the longest line, its end included, and the longest data of an event, in
	// bytes.
	Limit int
	// Keep is how many bytes are kept of each end of what is longer, at most half of the
	// limit. 0 means that [ErrLong] ends the stream instead.
	Keep int
	// Lenient takes from [Events] what services send in the place of tidy events, see there.
	Lenient bool
}

// Ends are the first and the last bytes of what is longer than the limit.
type Ends struct{ Head, Tail []byte }

func newEnds(text []byte, keep int) *Ends {
	return &Ends{Head: bytes.Clone(text[:min(len(text), keep)]), Tail: bytes.Clone(last(text, keep))}
}

// add moves the tail on.
func (e *Ends) add(more []byte, keep int) { e.Tail = last(append(e.Tail, last(more, keep)...), keep) }

func last(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// A Line is one line of a stream.
type Line struct {
	// Text is the line without its end. It is valid until the next line is read.
	Text []byte
	// Long holds what is kept of a line over the limit, which has no Text.
	Long *Ends
	// Cut is set when the stream ended inside the line.
	Cut bool
}

// Lines reads lines that end with LF or CRLF. The last one needs no end, whatever ends the
// stream. The error of src comes once and last, [io.EOF] not at all. A later range goes on
// where the one before broke off.
func Lines(src io.Reader, c Config) iter.Seq2[Line, error] {
	l := newLines(src, c, false)
	return func(yield func(Line, error) bool) {
		for {
			text, long, err := l.next()
			if err == io.EOF { //nolint:errorlint // readers return it as it is
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

// lines cuts a stream into lines. Its buffer grows with the longest line.
type lines struct {
	src     io.Reader
	c       Config
	returns bool // CR alone ends a line too

	buf     []byte
	r, w    int   // buf[r:w] is read and not yet handed out
	seen    int   // how much of buf[r:w] is known to hold no line end
	begin   int   // where the line handed out last begins
	afterCR bool  // that line ended with CR, to which LF may belong
	cut     bool  // that line has no end
	err     error // what ended the source
}

func newLines(src io.Reader, c Config, returns bool) lines {
	return lines{src: src, c: c, returns: returns, buf: make([]byte, min(startBuffer, c.Limit))}
}

// next returns the next line, or what is kept of a long one. Behind the last line it returns
// the error of the source for ever.
func (l *lines) next() (text []byte, long *Ends, err error) {
	for {
		if i := l.end(); i >= 0 {
			text, lf := l.buf[l.r:i], l.buf[i] == '\n'
			skip := l.afterCR && lf && len(text) == 0
			l.begin, l.r, l.seen, l.afterCR = l.r, i+1, 0, !lf
			if !lf && l.r < l.w && l.buf[l.r] == '\n' { // CRLF, nearly always
				l.r, l.afterCR = l.r+1, false
			}
			if skip {
				continue
			}
			if !l.returns {
				text = bytes.TrimSuffix(text, []byte("\r"))
			}
			return l.finish(text, long)
		}
		l.seen = l.w - l.r
		if l.seen >= l.room(long) {
			if l.c.Keep == 0 {
				return nil, nil, ErrLong
			}
			if long == nil {
				long = newEnds(l.buf[l.r:l.w], l.c.Keep)
			}
			l.r, l.seen = l.w-l.c.Keep, l.c.Keep
		}
		if l.err == nil {
			l.fill()
			continue
		}
		text := l.buf[l.r:l.w]
		l.begin, l.r, l.seen = l.r, l.w, 0
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

// room is how much of a line is held in the buffer.
func (l *lines) room(long *Ends) int {
	if long != nil {
		return min(l.c.Limit, 16*l.c.Keep)
	}
	return l.c.Limit
}

// end returns where in the buffer the line ends, or -1.
func (l *lines) end() int {
	from := l.r + l.seen
	rest := l.buf[from:l.w]
	i := bytes.IndexByte(rest, '\n')
	if i >= 0 {
		rest = rest[:i]
	}
	if l.returns {
		if j := bytes.IndexByte(rest, '\r'); j >= 0 {
			i = j
		}
	}
	if i < 0 {
		return -1
	}
	return from + i
}

// again lets the line handed out last come once more.
func (l *lines) again() { l.r = l.begin }

// fill reads more, after making room for it.
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

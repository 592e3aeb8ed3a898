package transport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

const (
	// maxFrame is the longest line taken from a server, and sent to one.
	maxFrame = 4 << 20
	// frameEnds is how much of each end of an overlong line is kept to find its id.
	frameEnds = 4 << 10
	// frameKeep is the largest buffer that is kept for the next line.
	frameKeep = 256 << 10
)

// A frameReader reads lines of at most max bytes. Longer ones are read to their
// end but only their ends are kept, so that memory stays bounded.
type frameReader struct {
	r   *bufio.Reader
	max int
	buf []byte
	// skipped is told of the pieces of a line that is too long; false ends the reading.
	skipped func(size int) bool
}

// errEndless is the end of a line that is read no further.
var errEndless = errors.New("a line without end")

func newFrameReader(r io.Reader, limit int) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its end. For an overlong line, head and tail
// are its two ends. The slices are valid until the next call.
func (f *frameReader) next() (line, head, tail []byte, err error) {
	f.buf = f.buf[:0]
	if cap(f.buf) > frameKeep {
		f.buf = nil
	}
	for {
		chunk, err := f.r.ReadSlice('\n')
		if len(f.buf)+len(chunk) > f.max {
			return f.skip(chunk, err)
		}
		f.buf = append(f.buf, chunk...)
		switch {
		case err == nil:
			return bytes.TrimRight(f.buf, "\r\n"), nil, nil, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(f.buf) > 0 && errors.Is(err, io.EOF) {
				return bytes.TrimRight(f.buf, "\r\n"), nil, nil, nil
			}
			return nil, nil, nil, err
		}
	}
}

// skip reads an overlong line to its end.
func (f *frameReader) skip(chunk []byte, err error) (line, head, tail []byte, _ error) {
	head = bytes.Clone(f.buf[:min(len(f.buf), frameEnds)])
	if missing := frameEnds - len(head); missing > 0 {
		head = append(head, chunk[:min(len(chunk), missing)]...)
	}
	tail = keepTail(bytes.Clone(f.buf[max(0, len(f.buf)-frameEnds):]), chunk)
	f.buf = nil // let go of the large buffer
	for errors.Is(err, bufio.ErrBufferFull) {
		chunk, err = f.r.ReadSlice('\n')
		tail = keepTail(tail, chunk)
		if f.skipped != nil && !f.skipped(len(chunk)) {
			return nil, nil, nil, errEndless
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, nil, err
	}
	return nil, head, bytes.TrimRight(tail, "\r\n"), nil
}

// keepTail appends chunk and keeps the last bytes of the two.
func keepTail(tail, chunk []byte) []byte {
	tail = append(tail, chunk[max(0, len(chunk)-frameEnds):]...)
	if extra := len(tail) - frameEnds; extra > 0 {
		tail = append(tail[:0], tail[extra:]...)
	}
	return tail
}

// trailingID finds an id that is the last field, or the last but the version, of
// the outermost object. It cannot match deeper, where more braces would follow.
func trailingID() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*("-?\d{1,18}"|-?\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
}

// cutID looks for the id of a response whose middle is missing.
func cutID(head, tail []byte) (json.RawMessage, bool) {
	if m := trailingID().FindSubmatch(tail); m != nil {
		return m[1], true
	}
	return leadingID(head)
}

// cutAnswer is the answer to the request whose own answer was too long to keep.
func cutAnswer(head, tail []byte) (*Message, bool) {
	id, ok := cutID(head, tail)
	if !ok {
		return nil, false
	}
	return &Message{ID: id, Error: WireError{
		Code:    CodeInternal,
		Message: fmt.Sprintf("the answer is longer than %d MiB and was dropped: ask for less", maxFrame>>20),
	}.Encode()}, true
}

// errUnreadable is the error of the only request under way when a line came that was too
// long to keep and named no request.
var errUnreadable = fmt.Errorf("%w: the server wrote a line of more than %d MiB that names no request; it was taken for the answer", ErrLost, maxFrame>>20)

// leadingID walks the outermost object up to the first value that is cut.
func leadingID(head []byte) (json.RawMessage, bool) {
	dec := json.NewDecoder(bytes.NewReader(head))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	for {
		key, err := dec.Token()
		if err != nil || key == json.Delim('}') {
			return nil, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil || key == "method" {
			return nil, false
		}
		if key == "id" {
			return value, true
		}
	}
}

package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Sizes of the line buffer. A whole answer can come in one line; nearly all lines
// are short.
const (
	startLine = 4 << 10
	maxLine   = 8 << 20
)

// errLong says that one event is longer than any sane message.
var errLong = errors.New("a message of the stream is longer than 8 MB")

// An event is one message of an event stream.
type event struct {
	// data is valid until the next event is read.
	data []byte
	// fault is set when the server named the event "error".
	fault bool
	// cut is set when the stream ended inside the event.
	cut bool
}

// An eventReader reads a stream of server-sent events. It takes what servers in
// the field send: comments, CRLF, no blank after the colon, several data lines in
// an event, no blank line after the last event or between events, and JSON
// objects without "data:" before them.
type eventReader struct {
	lines *bufio.Scanner
	ended bool

	data    []byte // the data lines of the event so far, joined
	count   int    // how many they are
	fault   bool
	pending []byte // the data line that begins the next event
	waiting bool   // pending holds one
}

func newEventReader(src io.Reader) *eventReader {
	r := &eventReader{lines: bufio.NewScanner(src)}
	r.lines.Buffer(make([]byte, 0, startLine), maxLine)
	return r
}

// next returns the next event that has data. After the last one it returns the
// error of the source for ever, io.EOF for a clean end.
func (r *eventReader) next() (event, error) {
	r.data, r.count, r.fault = r.data[:0], 0, false
	if r.waiting {
		r.waiting = false
		r.data, r.count = append(r.data, r.pending...), 1
	}
	for !r.ended && r.lines.Scan() {
		if e, ready := r.line(r.lines.Bytes()); ready {
			return e, nil
		}
		if len(r.data) > maxLine {
			r.ended = true
			return event{}, errLong
		}
	}
	r.ended = true
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return event{}, errLong
	case len(r.data) > 0:
		return event{data: r.data, fault: r.fault, cut: true}, nil
	case err != nil:
		return event{}, err
	}
	return event{}, io.EOF
}

// line takes in one line and says whether it makes an event ready.
func (r *eventReader) line(line []byte) (event, bool) {
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	if len(line) == 0 {
		ready := len(r.data) > 0
		e := event{data: r.data, fault: r.fault}
		if !ready {
			r.count, r.fault = 0, false
		}
		return e, ready
	}
	if line[0] == '{' && r.count == 0 {
		return event{data: line, fault: r.fault}, true
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		r.fault = string(value) == "error"
	case "data":
		return r.add(value)
	}
	return event{}, false
}

// add takes in a data line. One that follows a whole message begins the next
// event: some servers send no blank line between two.
func (r *eventReader) add(value []byte) (event, bool) {
	if r.count == 1 && (isDone(r.data) || json.Valid(r.data)) {
		r.pending = append(r.pending[:0], value...)
		r.waiting = true
		return event{data: r.data, fault: r.fault}, true
	}
	if r.count > 0 {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	r.count++
	return event{}, false
}

// drain reads what little may follow the last event, so that the connection can
// be used again.
func (r *eventReader) drain() {
	for range 16 {
		if r.ended || !r.lines.Scan() {
			return
		}
	}
}

// isDone says whether the data of an event is the mark of the end.
func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

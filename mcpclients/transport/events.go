package transport

import (
	"bytes"
	"io"
)

// An event of a text/event-stream. One that was too long has no data, but its ends
// in head and tail.
type event struct {
	name       string
	data       []byte
	head, tail []byte
}

// An eventReader reads the events of a stream, each of at most limit bytes.
type eventReader struct {
	lines *frameReader
	limit int
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{lines: newFrameReader(r, limit), limit: limit}
}

// next returns the next event that has data. Its slices are the caller's.
func (r *eventReader) next() (event, error) {
	var e event
	for {
		line, head, tail, err := r.lines.next()
		switch {
		case err != nil:
			return event{}, err
		case line == nil:
			if data, ok := bytes.CutPrefix(head, []byte("data:")); ok {
				e.cut(data, tail)
			}
		case len(line) == 0:
			if e.data != nil || e.head != nil {
				return e, nil
			}
			e = event{}
		default:
			r.field(&e, line)
		}
	}
}

// field takes one line of an event. Comments, ids and retry times mean nothing
// here: a stream of this kind cannot be resumed.
func (r *eventReader) field(e *event, line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.name = string(value)
	case "data":
		switch {
		case e.head != nil:
			e.cut(nil, value)
		case len(e.data)+len(value) >= r.limit:
			e.cut(append(e.data, value...), value)
		case e.data == nil:
			e.data = append(make([]byte, 0, len(value)), value...)
		default:
			e.data = append(append(e.data, '\n'), value...)
		}
	}
}

// cut gives up an event's data and keeps its two ends.
func (e *event) cut(head, tail []byte) {
	if e.head == nil {
		e.head = bytes.TrimRight(bytes.Clone(head[:min(len(head), frameEnds)]), "\r\n")
	}
	if e.head == nil {
		e.head = []byte{}
	}
	e.tail = bytes.Clone(tail[max(0, len(tail)-frameEnds):])
	e.data = nil
}

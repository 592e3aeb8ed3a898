package wire

import (
	"bytes"
	"encoding/json"
)

// An Event is one message of an event stream.
type Event struct {
	// Data is valid until the next event is read.
	Data []byte
	// Fault is set when the server named the event "error".
	Fault bool
	// Cut is set when the stream ended inside the event.
	Cut bool
}

// IsDone reports whether the event is the mark of the end.
func (e Event) IsDone() bool { return isDone(e.Data) }

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// Events reads a stream of server-sent events. It takes what servers in the field send:
// comments, CRLF, no blank after the colon, several data lines in an event, no blank line
// after the last event or between events, objects without "data:" before them or with
// "error:" in its place, and a JSON array in place of the stream.
type Events struct {
	lines *Lines

	data    []byte // the data lines of the event so far, joined
	count   int    // how many they are
	fault   bool
	pending []byte // the data line that begins the next event
	waiting bool   // pending holds one
	array   *array // of JSON that stands there without a field's name
}

// NewEvents returns the events of a stream.
func NewEvents(src *Lines) *Events { return &Events{lines: src} }

// Next returns the next event that has data. After the last one it returns the error of
// the source for ever, io.EOF for a clean end.
func (r *Events) Next() (Event, error) {
	r.data, r.count, r.fault = r.data[:0], 0, false
	if r.waiting {
		r.waiting = false
		r.data, r.count = append(r.data, r.pending...), 1
	}
	for {
		if r.array != nil {
			if element := r.array.next(); element != nil {
				if r.array.bare {
					r.array = nil
				}
				return Event{Data: element, Fault: r.fault}, nil
			}
		}
		line, err := r.lines.Next()
		if err != nil {
			if r.array != nil {
				r.data = append(r.data, r.array.end()...)
			}
			if len(r.data) > 0 && err != ErrLong { //nolint:errorlint // it comes as it is
				return Event{Data: r.data, Fault: r.fault, Cut: true}, nil
			}
			return Event{}, err
		}
		if e, ready := r.line(line); ready {
			return e, nil
		}
		if len(r.data) > maxLine || r.array != nil && len(r.array.rest) > maxLine {
			return Event{}, ErrLong
		}
	}
}

// line takes in one line and reports whether it makes an event ready.
func (r *Events) line(line []byte) (Event, bool) {
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	if len(line) == 0 && r.array == nil {
		ready := len(r.data) > 0
		if !ready {
			r.count, r.fault = 0, false
		}
		return Event{Data: r.data, Fault: r.fault}, ready
	}
	if r.array == nil && r.count == 0 && (line[0] == '{' || line[0] == '[' && !isDone(line)) {
		r.array = &array{bare: line[0] == '{'}
		line = bytes.TrimPrefix(line, []byte("["))
	}
	if r.array != nil {
		r.array.rest = append(append(r.array.rest, line...), '\n')
		return Event{}, false
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		r.fault = string(bytes.TrimSpace(value)) == "error"
	case "error":
		r.fault = true
		return r.add(value)
	case "data":
		return r.add(value)
	}
	return Event{}, false
}

// add takes in a data line. One that follows a whole message begins the next event: some
// servers send no blank line between two.
func (r *Events) add(value []byte) (Event, bool) {
	if r.count == 1 && (isDone(r.data) || json.Valid(r.data)) {
		r.pending = append(r.pending[:0], value...)
		r.waiting = true
		return Event{Data: r.data, Fault: r.fault}, true
	}
	if r.count > 0 {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	r.count++
	return Event{}, false
}

// Package sse reads lines and server-sent events from an untrusted stream, with limits on their
// length. It does not interpret the data of events, except [DONE], with which many services end a
// stream.
package sse

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"time"
)

// An Event is one message of an event stream.
type Event struct {
	// Name is the event type, trimmed; often empty, or "error".
	Name string
	// Data holds the data lines, joined by LF. It is valid until the next event is read.
	Data []byte
	// Long holds the ends of data over the limit; then Data is empty.
	Long *Ends
	// ID and Retry are the latest ones of the stream, in this event or an earlier one: the ID that
	// a client sends when it reconnects, and how long it waits before that.
	ID    string
	Retry time.Duration
	// Cut is set if the stream ended inside the event; see [Config.Lenient].
	Cut bool
}

// IsDone reports whether the event is [DONE].
func (e Event) IsDone() bool { return isDone(e.Data) }

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// Events yields the events of src that have data, as defined by
// https://html.spec.whatwg.org/multipage/server-sent-events.html. An error of src is yielded once, at
// the end, except [io.EOF]. A later range continues where the previous one stopped.
//
// With [Config.Lenient] it also accepts an event without a blank line after it, if the next one begins
// or the stream ends (then Cut is set); "error:" instead of "data:", for an event with the name
// "error"; and JSON without a field name: an object, or an array whose items are the events. It then
// skips events with empty data, and ignores Keep for such arrays.
func Events(src io.Reader, c Config) iter.Seq2[Event, error] {
	r := &events{lines: newLines(src, c, true), c: c}
	return func(yield func(Event, error) bool) {
		for {
			err := r.next()
			if err == io.EOF { //nolint:errorlint // readers return it unwrapped
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(r.e, nil) {
				return
			}
		}
	}
}

// events builds events from lines.
type events struct {
	lines lines
	c     Config

	e     Event
	data  []byte // the data lines of the event so far, joined
	count int    // number of data lines so far
	name  string // the last name, cached as a string
	array *array // nil unless JSON without a field name is being read
}

// next reads the next event into e. After the last event, every call returns the error of the
// source.
func (r *events) next() error {
	if cap(r.data) > keepBuffer {
		r.data = nil
	}
	r.clear()
	for {
		if r.array != nil {
			if r.e.Data = r.element(); r.e.Data != nil {
				return nil
			}
		}
		text, long, err := r.lines.next()
		if err != nil {
			return r.end(err)
		}
		ready, err := r.line(text, long)
		if ready && r.e.Long == nil {
			r.e.Data = r.data
		}
		if ready || err != nil {
			return err
		}
	}
}

// clear starts a new event.
func (r *events) clear() {
	r.e.Name, r.e.Data, r.e.Long = "", nil, nil
	r.data, r.count = r.data[:0], 0
}

// end handles the end of the lines: in lenient mode, the remaining data becomes an event.
func (r *events) end(err error) error {
	if r.array != nil {
		r.data = append(r.data, r.array.end()...)
	}
	if !r.c.Lenient || len(r.data) == 0 || err == ErrLong { //nolint:errorlint // it is never wrapped
		return err
	}
	r.e.Data, r.e.Cut = r.data, true
	r.data = nil
	return nil
}

// line processes a line, and reports whether it completes an event.
func (r *events) line(text []byte, long *Ends) (bool, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case long != nil:
		return false, r.longLine(long)
	case r.array != nil:
		return false, r.jsonLine(text)
	case len(text) == 0:
		if r.e.Long != nil || len(r.data) > 0 || r.count > 0 && !r.c.Lenient {
			return true, nil
		}
		r.clear()
		return false, nil
	case r.c.Lenient && r.count == 0 && (text[0] == '{' || text[0] == '[' && !isDone(text)):
		r.array = &array{bare: text[0] == '{'}
		return false, r.jsonLine(bytes.TrimPrefix(text, []byte("[")))
	}
	field, value, _ := bytes.Cut(text, []byte(":"))
	return r.field(field, bytes.TrimPrefix(value, []byte(" ")))
}

func (r *events) field(name, value []byte) (ready bool, err error) {
	switch string(name) {
	case "event":
		if value = bytes.TrimSpace(value); string(value) != r.name {
			r.name = string(value)
		}
		r.e.Name = r.name
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.e.ID = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.e.Retry = time.Duration(ms) * time.Millisecond
		}
	case "data":
		return r.dataLine(value, r.e.Name)
	case "error":
		if r.c.Lenient {
			return r.dataLine(value, "error")
		}
	}
	return false, nil
}

// dataLine processes a data line of an event with the name. In lenient mode, a line after complete
// JSON begins the next event, because some servers send no blank line between two events.
func (r *events) dataLine(value []byte, name string) (ready bool, err error) {
	if r.c.Lenient && r.count == 1 && (isDone(r.data) || json.Valid(r.data)) {
		r.lines.unread()
		return true, nil
	}
	r.e.Name = name
	return false, r.add(value)
}

// add appends a data line.
func (r *events) add(value []byte) error {
	if r.count > 0 {
		r.data = append(r.data, '\n')
	}
	r.count++
	r.data = append(r.data, value...)
	switch {
	case r.e.Long != nil:
		r.truncate()
	case len(r.data) > r.c.Limit:
		if r.c.Keep == 0 {
			return ErrLong
		}
		r.truncate()
	}
	return nil
}

// longLine processes a line over the limit.
func (r *events) longLine(l *Ends) error {
	head, isData := bytes.CutPrefix(l.Head, []byte("data:"))
	if !isData {
		return nil
	}
	err := r.add(bytes.TrimPrefix(head, []byte(" ")))
	r.truncate()
	r.e.Long.add(l.Tail, r.c.Keep)
	return err
}

// truncate moves the data to the ends in Long.
func (r *events) truncate() {
	if r.e.Long == nil {
		r.e.Long = newEnds(r.data, r.c.Keep)
	} else {
		r.e.Long.add(r.data, r.c.Keep)
	}
	r.data = r.data[:0]
}

// jsonLine processes a line of JSON without a field name.
func (r *events) jsonLine(text []byte) error {
	r.array.rest = append(append(r.array.rest, text...), '\n')
	if len(r.array.rest) > r.c.Limit {
		return ErrLong
	}
	return nil
}

// element returns the next complete object of such JSON, or nil.
func (r *events) element() []byte {
	element := r.array.next()
	if element != nil && r.array.bare {
		r.array = nil
	}
	return element
}

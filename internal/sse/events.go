// Package sse reads lines, and the server-sent events that they make up, from a stream that
// may hold anything. It owns their syntax and their bounds. What an event means is its
// reader's; only [DONE], the mark by which many services end a stream, is known here.
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
	// Name is its type, without blanks around it; often empty, or "error".
	Name string
	// Data holds its data lines, joined by LF. It is valid until the next event is read.
	Data []byte
	// Long holds what is kept of data over the limit; then there is no Data.
	Long *Ends
	// ID and Retry are the last ones that the stream named, in this event or before: what a
	// client repeats when it connects again, and how long it waits before.
	ID    string
	Retry time.Duration
	// Cut is set when the stream ended inside the event, see [Config.Lenient].
	Cut bool
}

// IsDone reports whether the event is the mark of the end.
func (e Event) IsDone() bool { return isDone(e.Data) }

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// Events reads the events of src that have data, as
// https://html.spec.whatwg.org/multipage/server-sent-events.html describes them. The error
// of src comes once and last, [io.EOF] not at all. A later range goes on where the one before
// broke off.
//
// [Config.Lenient] takes three things more: an event without a blank line behind it, where the
// next one begins or the stream ends (it is Cut then), data with "error:" in the place of
// "data:", which is an event of that name, and JSON that stands there without a field's name:
// an object, or an array whose items are the events. In return it leaves out events whose data
// is empty, and Keep means nothing for its arrays.
func Events(src io.Reader, c Config) iter.Seq2[Event, error] {
	r := &events{lines: newLines(src, c, true), c: c}
	return func(yield func(Event, error) bool) {
		for {
			err := r.next()
			if err == io.EOF { //nolint:errorlint // readers return it as it is
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

// events puts lines together.
type events struct {
	lines lines
	c     Config

	e     Event
	data  []byte // the data lines of the event so far, joined
	count int    // how many they are
	name  string // the last name, so that it is made into a string once
	array *array // of JSON without a field's name
}

// next reads the next event into e. Behind the last one it returns the error of the source
// for ever.
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

// clear begins another event.
func (r *events) clear() {
	r.e.Name, r.e.Data, r.e.Long = "", nil, nil
	r.data, r.count = r.data[:0], 0
}

// end makes an event of what is left when no more lines come.
func (r *events) end(err error) error {
	if r.array != nil {
		r.data = append(r.data, r.array.end()...)
	}
	if !r.c.Lenient || len(r.data) == 0 || err == ErrLong { //nolint:errorlint // it is ours
		return err
	}
	r.e.Data, r.e.Cut = r.data, true
	r.data = nil
	return nil
}

// line takes in one line and reports whether it makes an event ready.
func (r *events) line(text []byte, long *Ends) (bool, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case long != nil:
		return false, r.long(long)
	case r.array != nil:
		return false, r.json(text)
	case len(text) == 0:
		if r.e.Long != nil || len(r.data) > 0 || r.count > 0 && !r.c.Lenient {
			return true, nil
		}
		r.clear()
		return false, nil
	case r.c.Lenient && r.count == 0 && (text[0] == '{' || text[0] == '[' && !isDone(text)):
		r.array = &array{bare: text[0] == '{'}
		return false, r.json(bytes.TrimPrefix(text, []byte("[")))
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
		return r.datum(value, r.e.Name)
	case "error":
		if r.c.Lenient {
			return r.datum(value, "error")
		}
	}
	return false, nil
}

// datum takes in a data line of an event of that name. One that follows a whole message
// begins the next event: some servers send no blank line between two.
func (r *events) datum(value []byte, name string) (ready bool, err error) {
	if r.c.Lenient && r.count == 1 && (isDone(r.data) || json.Valid(r.data)) {
		r.lines.again()
		return true, nil
	}
	r.e.Name = name
	return false, r.add(value)
}

// add takes in a data line.
func (r *events) add(value []byte) error {
	if r.count > 0 {
		r.data = append(r.data, '\n')
	}
	r.count++
	r.data = append(r.data, value...)
	switch {
	case r.e.Long != nil:
		r.cut()
	case len(r.data) > r.c.Limit:
		if r.c.Keep == 0 {
			return ErrLong
		}
		r.cut()
	}
	return nil
}

// long takes in a line that is too long.
func (r *events) long(l *Ends) error {
	head, isData := bytes.CutPrefix(l.Head, []byte("data:"))
	if !isData {
		return nil
	}
	err := r.add(bytes.TrimPrefix(head, []byte(" ")))
	r.cut()
	r.e.Long.add(l.Tail, r.c.Keep)
	return err
}

// cut gives up the data but for its ends.
func (r *events) cut() {
	if r.e.Long == nil {
		r.e.Long = newEnds(r.data, r.c.Keep)
	} else {
		r.e.Long.add(r.data, r.c.Keep)
	}
	r.data = r.data[:0]
}

// json takes in a line of JSON without a field's name.
func (r *events) json(text []byte) error {
	r.array.rest = append(append(r.array.rest, text...), '\n')
	if len(r.array.rest) > r.c.Limit {
		return ErrLong
	}
	return nil
}

// element returns the next object of such JSON, or nil.
func (r *events) element() []byte {
	element := r.array.next()
	if element != nil && r.array.bare {
		r.array = nil
	}
	return element
}

package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// maxEvent bounds one event of a stream. The SDK's own bound is 256 MB.
const maxEvent = 8 << 20

// eventPrefix begins an event as the SDK reads it.
const eventPrefix = "data: "

// errLongEvent: an event is longer than maxEvent.
var errLongEvent = errors.New("an event of the stream is longer than 8 MB")

// An eventReader stands between a stream's body and the SDK's reader, which knows
// only lines of the form "data: {...}" and stumbles over all else that server-sent
// events may hold. It hands on one whole event at a time and never reads ahead, so
// that what it saw last belongs to the chunk that the SDK yields next. It keeps
// the reason why the stream ended to itself and shows the SDK a plain end, because
// the SDK prints errors to the standard logger.
type eventReader struct {
	body  io.ReadCloser
	lines *bufio.Reader
	out   []byte // the event that is being handed on
	off   int
	err   error // why there are no more events; io.EOF for a proper end
	count int
	last  seen

	x    *exchange
	idle *time.Timer
}

// seen is what the SDK loses of an event.
type seen struct {
	args   []json.RawMessage // of the calls, in order
	detail string            // why the answer ended, in words
	fault  string            // an error that is only a string
}

func newEventReader(body io.ReadCloser, x *exchange) *eventReader {
	r := &eventReader{body: body, lines: bufio.NewReaderSize(body, 4<<10), x: x}
	r.idle = time.AfterFunc(x.idle, func() { x.cancel(errStalled) })
	r.idle.Stop()
	return r
}

// Read hands on the current event, or waits for the next one.
func (r *eventReader) Read(p []byte) (int, error) {
	if r.off == len(r.out) {
		if r.err == nil {
			r.next()
		}
		if r.err != nil {
			return 0, io.EOF
		}
	}
	n := copy(p, r.out[r.off:])
	r.off += n
	return n, nil
}

// Close closes the stream's body.
func (r *eventReader) Close() error {
	r.idle.Stop()
	return r.body.Close()
}

// next waits for an event. The clock runs only while the service is waited for,
// not while the consumer works.
func (r *eventReader) next() {
	if r.count > 0 {
		r.idle.Reset(r.x.idle)
		defer r.idle.Stop()
	}
	r.out, r.off = append(r.out[:0], eventPrefix...), 0
	start := len(r.out)
	for {
		whole, err := r.line()
		data := r.out[start:]
		switch {
		case err == nil && !whole:
			continue
		case errors.Is(err, io.EOF) && len(data) > 0 && !json.Valid(data):
			r.err = io.ErrUnexpectedEOF // cut within an event
			return
		case err != nil && (!errors.Is(err, io.EOF) || len(data) == 0):
			r.err = err
			return
		}
		r.x.first.Stop()
		r.count++
		r.look(data)
		r.out = append(r.out, "\n\n"...)
		return
	}
}

// line takes in one line and says whether an event is whole.
func (r *eventReader) line() (whole bool, err error) {
	begin := len(r.out)
	for {
		piece, err := r.lines.ReadSlice('\n')
		r.out = append(r.out, piece...)
		if len(r.out) > maxEvent {
			return false, errLongEvent
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		line := bytes.TrimRight(r.out[begin:], "\r\n")
		if len(line) == 0 && err == nil {
			r.out = r.out[:begin]
			return begin > len(eventPrefix), nil
		}
		r.keep(begin, line)
		return false, err
	}
}

// keep leaves of the line, which begins at begin, only its data. Lines of one
// event are joined by a space, which JSON does not mind. A line without a field
// name is taken as data: errors come as bare JSON.
func (r *eventReader) keep(begin int, line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok && isField(line) {
		data = nil
	}
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, []byte("[DONE]")) {
		data = nil
	}
	r.out = r.out[:begin]
	if len(data) > 0 && begin > len(eventPrefix) {
		data = bytes.Clone(data) // the space may overwrite its first byte
		r.out = append(r.out, ' ')
	}
	r.out = append(r.out, data...)
}

// isField says whether a line is a comment or a field that means nothing here.
func isField(line []byte) bool {
	if len(line) == 0 || line[0] == ':' {
		return true
	}
	for _, field := range []string{"event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(field)) {
			return true
		}
	}
	return false
}

// look keeps what the SDK would lose of an event: the exact arguments of calls
// (it rounds numbers to float64), the words beside a finish reason, and an error
// that is no object, over which it passes in silence.
func (r *eventReader) look(data []byte) {
	r.last = seen{}
	if !bytes.Contains(data, []byte(`"functionCall"`)) && !bytes.Contains(data, []byte(`"finishMessage"`)) &&
		!bytes.Contains(data, []byte(`"error"`)) {
		return
	}
	var event struct {
		Error      json.RawMessage `json:"error"`
		Candidates []struct {
			FinishMessage string `json:"finishMessage"`
			Content       struct {
				Parts []struct {
					FunctionCall *struct {
						Args json.RawMessage `json:"args"`
					} `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	if json.Unmarshal(data, &event) != nil {
		return // the SDK will say so
	}
	var fault string
	if json.Unmarshal(event.Error, &fault) == nil {
		r.last.fault = fault
	}
	if len(event.Candidates) == 0 {
		return
	}
	candidate := event.Candidates[0]
	r.last.detail = candidate.FinishMessage
	for _, part := range candidate.Content.Parts {
		if part.FunctionCall != nil {
			r.last.args = append(r.last.args, part.FunctionCall.Args)
		}
	}
}

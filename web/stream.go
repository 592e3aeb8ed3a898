package web

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"molar/agent"
)

const (
	// maxHold is how long a stream waits for a sign of life before its headers go
	// out. Until then a failure still gets a proper HTTP status.
	maxHold = time.Second
	// joinFor is how long a piece of text may wait for the next one, when the one before
	// it was sent so short a time ago: a model that is faster than that would else cost
	// a write, and a packet, for every few letters.
	joinFor = 2 * time.Millisecond
	// flushSize is how much is gathered then, in bytes.
	flushSize = 16 << 10
	// writeLimit is how long one write may take before the reader is given up.
	writeLimit = 30 * time.Second
)

// stream renders a turn as server-sent events. The error is for the log; the client
// has been told.
func (s *server) stream(f *feed, st *streamer) (err error) {
	st.start(s.KeepAlive, f.stop)
	defer st.close()
	f.beside = func(ev agent.Event) { _ = st.send(item{event: ev}) } // the turn's next event tells of a fault
	f.each(func(it item) bool {
		if it.err != nil {
			err = st.fail(causeOf(f.cause(), it.err))
		} else {
			err = st.send(it)
		}
		return err == nil
	})
	if err == nil {
		err = st.end(causeOf(f.cause(), errCut))
	}
	return err
}

// A streamer writes one stream.
type streamer struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	id     identity
	chunks chunker
	// usage and events are what the client asked for.
	usage, events bool
	// numbered puts the number of each event before it, for a client that may come
	// back for the rest.
	numbered bool
	// html also gives the answer as HTML, with events; nil for none.
	html *htmlFeed

	// mu guards all that follows: the turn writes, the clock, and those who wait for a
	// person within a turn.
	mu sync.Mutex
	// clock writes what was left to wait, and keeps the stream alive.
	clock     *time.Timer
	keepAlive time.Duration
	giveUp    func()
	// broken is the error of a write; nothing is written after it, or once closed.
	broken error
	closed bool
	// joined is set while text waits for the clock; spokeAt is when text was last sent.
	joined  bool
	spokeAt time.Time

	// at is when the event that is being encoded was said.
	at time.Duration
	// buf holds what has not been sent yet.
	buf []byte
	// committed is set once the answer is a stream, whatever comes: before, nothing
	// is sent.
	committed bool
	opened    bool
	spoke     bool
	toolRan   bool
	done      bool
	// deadline is when the connection gives up, as it was last set.
	deadline time.Time
}

func newStreamer(w http.ResponseWriter, id identity, usage, events bool) *streamer {
	return &streamer{w: w, rc: controller(w), id: id, usage: usage, events: events}
}

// controller looks below gin's writer, whose Flush swallows the error that says
// that the client has gone.
func controller(w http.ResponseWriter) *http.ResponseController {
	if wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = wrapper.Unwrap()
	}
	return http.NewResponseController(w)
}

// takeNumbered encodes an event. Its number stands at its last chunk: a client that
// has seen the number has seen all of the event.
func (st *streamer) takeNumbered(it item) {
	begin := len(st.buf)
	st.at = it.at
	st.take(it.event)
	if !st.numbered || it.number == 0 || len(st.buf) == begin {
		return
	}
	end := len(st.buf) - len(eventEnd)
	if st.done && bytes.HasSuffix(st.buf, []byte(streamEnd)) {
		end -= len(streamEnd) // the chunk before the closing line
	}
	last := begin
	if i := bytes.LastIndex(st.buf[begin:end], []byte(eventEnd)); i >= 0 {
		last = begin + i + len(eventEnd)
	}
	st.buf = slices.Insert(st.buf, last, []byte("id: "+strconv.Itoa(it.number)+"\n")...)
}

// streamEnd closes a stream.
const streamEnd = eventStart + "[DONE]" + eventEnd

// take encodes an event. Nothing follows the end of a stream.
func (st *streamer) take(ev agent.Event) {
	if st.done {
		return
	}
	switch ev.Kind {
	case agent.EventStart:
		if !st.spoke {
			st.id.start(ev.Start)
		}
	case agent.EventText:
		if ev.Text != "" {
			st.committed = true
			st.speak()
			st.buf = st.chunks.text(st.buf, ev.Text)
			if st.html != nil {
				st.html.take(ev.Text)
			}
		}
	case agent.EventThinking:
		if ev.Text != "" {
			st.committed = true
			st.speak()
			st.buf = st.chunks.reasoning(st.buf, ev.Text)
		}
	case agent.EventClientCalls:
		st.committed = true
		st.speak()
		for i, call := range ev.Calls {
			st.buf = st.chunks.call(st.buf, i, call)
		}
	case agent.EventDone:
		st.committed = true
		st.finish(ev.Done)
	default:
		// A stream is open before its first tool runs: no status may invite a retry.
		st.toolRan = st.toolRan || isTool(ev)
		st.committed = st.committed || st.toolRan
		st.note(ev)
	}
}

// speak begins the assistant's message, once.
func (st *streamer) speak() {
	if st.spoke {
		return
	}
	st.spoke = true
	st.chunks = newChunker(st.id.completion(), st.id.created, st.id.model, st.id.conversation)
	st.buf = st.chunks.role(st.buf)
}

func (st *streamer) note(ev agent.Event) {
	if !st.events {
		return
	}
	if molar := noteOf(ev, st.id, st.at); molar != nil {
		st.speak()
		st.buf = st.chunks.note(st.buf, molar)
	}
}

// render adds the HTML of what has come since the last time. Text that is written at
// once is rendered once. last says that no text will follow.
func (st *streamer) render(last bool) {
	if st.html == nil || !st.events {
		return
	}
	if molar := st.html.note(last); molar != nil {
		st.speak()
		st.buf = st.chunks.note(st.buf, molar)
	}
}

func (st *streamer) finish(d *agent.Done) {
	if d == nil {
		d = &agent.Done{}
	}
	st.done = true
	st.speak()
	st.render(true)
	st.note(agent.Event{Kind: agent.EventDone, Done: d})
	st.buf = st.chunks.finish(st.buf, finishOf(d))
	if st.usage {
		st.buf = st.chunks.usage(st.buf, d.Usage)
	}
	st.buf = append(st.buf, streamEnd...)
}

// fail tells the client that the turn broke: by status while nothing is sent, else
// as an event, after which nothing comes, so that nobody takes the answer for whole.
func (st *streamer) fail(err error) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done {
		return err
	}
	e := failureOf(err)
	if st.toolRan {
		e = e.afterTurnTool()
	}
	if !st.committed {
		writeError(st.w, e)
		return err
	}
	st.render(true)
	st.buf = append(st.buf, eventStart...)
	st.buf = append(st.buf, e.body(requestID(st.w))...)
	st.buf = append(st.buf, eventEnd...)
	return errors.Join(err, st.write())
}

// end is called when no more events come; cut is why, if the turn is not done.
func (st *streamer) end(cut error) error {
	st.mu.Lock()
	done := st.done
	st.mu.Unlock()
	if done {
		return nil
	}
	return st.fail(cut)
}

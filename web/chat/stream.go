package chat

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"molar/agent/answer"
	"molar/web/pages"
	"molar/web/turns"
	"molar/web/wire"
)

// stream renders a turn as server-sent events. The error is for the log; it was already sent to the
// client.
func (s *Surface) stream(f *turns.Feed, st *streamer) (err error) {
	st.Start(s.KeepAlive, f.Stop)
	defer st.Close()
	for it := range f.Items() {
		if it.Err != nil {
			err = st.fail(turns.CauseOf(f.Cause(), it.Err))
		} else {
			err = st.send(it)
		}
		if err != nil {
			return err
		}
	}
	return st.end(turns.CauseOf(f.Cause(), turns.ErrCut))
}

// A streamer writes the events of one turn to a stream.
type streamer struct {
	*wire.Stream
	id     identity
	chunks chunker
	// usage and events are set if the client asked for them.
	usage, events bool
	// numbered writes an id with each event, for a client that may resume the stream.
	numbered bool
	// html renders the answer as HTML, which is sent in events; nil if HTML is not requested.
	html *pages.Feed

	// at is the time of the event that is being encoded.
	at time.Duration
	// spoke is set once the assistant's message has begun.
	spoke   bool
	effects turns.Effects
	// unsaved is set when the turn has reported that the store failed.
	unsaved bool
}

func newStreamer(w http.ResponseWriter, id identity, usage, events bool) *streamer {
	st := &streamer{Stream: wire.NewStream(w), id: id, usage: usage, events: events}
	st.Open = st.headers
	return st
}

func (st *streamer) headers(h http.Header) {
	st.id.headers(h)
	if st.unsaved {
		h.Set(savedHeader, "false")
	}
}

// send writes an event, or buffers it if more text may follow within milliseconds. HTML is rendered
// here, from the text that is written, and not when the stream's clock writes.
func (st *streamer) send(it turns.Item) error {
	st.Lock()
	defer st.Unlock()
	if ended, err := st.Ended(); ended {
		return err
	}
	st.takeNumbered(it)
	if it.Event.Kind == answer.KindText && st.html == nil && st.MayWait() {
		return nil
	}
	if !st.Done {
		st.render(false)
	}
	return st.Write()
}

// takeNumbered encodes an event. Its number is written with its last chunk, so that a client that
// has received the number has received the whole event.
func (st *streamer) takeNumbered(it turns.Item) {
	begin := len(st.Buf)
	st.at = it.At
	st.take(it.Event)
	if !st.numbered || it.Number == 0 || len(st.Buf) == begin {
		return
	}
	end := len(st.Buf) - len(wire.EventEnd)
	if st.Done && bytes.HasSuffix(st.Buf, []byte(wire.EventLast)) {
		end -= len(wire.EventLast) // the chunk before the closing line
	}
	last := begin
	if i := bytes.LastIndex(st.Buf[begin:end], []byte(wire.EventEnd)); i >= 0 {
		last = begin + i + len(wire.EventEnd)
	}
	st.Buf = slices.Insert(st.Buf, last, []byte("id: "+strconv.Itoa(it.Number)+"\n")...)
}

// take encodes an event. It ignores events after the end of the answer.
func (st *streamer) take(ev answer.Event) {
	if st.Done {
		return
	}
	switch ev.Kind {
	case answer.KindStart:
		if !st.spoke {
			st.id.start(ev.Start)
		}
	case answer.KindText:
		if ev.Text != "" {
			st.Committed = true
			st.speak()
			st.Buf = st.chunks.text(st.Buf, ev.Text, ev.Refusal)
			st.html.Add(ev)
		}
	case answer.KindThinking:
		if ev.Text != "" {
			st.Committed = true
			st.speak()
			st.Buf = st.chunks.reasoning(st.Buf, ev.Text)
		}
	case answer.KindClientCalls:
		st.Committed = true
		st.speak()
		for i, call := range ev.Calls {
			st.Buf = st.chunks.call(st.Buf, i, call)
		}
	case answer.KindDone:
		st.Committed = true
		st.finish(ev.Done)
	default:
		// The stream is opened before the first tool with an effect runs, because after that no
		// status may invite a retry. A client that asks for events gets each call at once.
		st.effects.Add(ev)
		st.unsaved = st.unsaved || ev.Unsaved
		st.Committed = st.Committed || turns.Acts(ev) || st.events && ev.Kind == answer.KindToolCall
		st.note(ev)
	}
}

// speak writes the first chunk of the assistant's message, once.
func (st *streamer) speak() {
	if st.spoke {
		return
	}
	st.spoke = true
	st.chunks = newChunker(st.id.completion(), st.id.created, st.id.model, st.id.conversation)
	st.Buf = st.chunks.role(st.Buf)
}

func (st *streamer) note(ev answer.Event) {
	if !st.events {
		return
	}
	html := ""
	if ev.Kind == answer.KindCommentary || ev.Kind == answer.KindReset && ev.Text != "" {
		html = st.html.SetApart(ev)
	}
	if molar := noteOf(ev, st.id, st.at, html); molar != nil {
		st.speak()
		st.Buf = st.chunks.note(st.Buf, molar)
	}
}

// render adds the HTML of the text since its last call, so that text that is written together is
// rendered once. last means that no text will follow.
func (st *streamer) render(last bool) {
	if st.html == nil || !st.events {
		return
	}
	if molar := st.html.Note(last); molar != nil {
		st.speak()
		st.Buf = st.chunks.note(st.Buf, molar)
	}
}

func (st *streamer) finish(d *answer.Done) {
	if d == nil {
		d = &answer.Done{}
	}
	st.Done = true
	st.unsaved = st.unsaved || d.Unsaved
	st.speak()
	st.render(true)
	st.note(answer.Event{Kind: answer.KindDone, Done: d})
	st.Buf = st.chunks.finish(st.Buf, finishOf(d))
	if st.usage {
		st.Buf = st.chunks.usage(st.chunks.next(st.Buf), d.Usage)
	}
	st.Buf = st.chunks.last(st.Buf, d.Saved)
	st.Buf = append(st.Buf, wire.EventLast...)
}

// fail sends the error of the turn: as an HTTP status if nothing was sent before, else as the last
// event, without the closing line, so that clients do not take the answer for complete.
func (st *streamer) fail(err error) error {
	st.Lock()
	defer st.Unlock()
	if st.Done {
		return err
	}
	e := st.id.failure(err, st.effects.Any())
	if !st.Committed {
		st.id.headers(st.Writer().Header())
		wire.WriteError(st.Writer(), e)
		return err
	}
	st.render(true)
	st.Buf = append(st.Buf, wire.EventStart...)
	st.Buf = append(st.Buf, e.Body(wire.RequestID(st.Writer()))...)
	st.Buf = append(st.Buf, wire.EventEnd...)
	return errors.Join(err, st.Write())
}

// end is called after the last event; it sends the error cut if the turn has no normal end.
func (st *streamer) end(cut error) error {
	st.Lock()
	done := st.Done
	st.Unlock()
	if done {
		return nil
	}
	return st.fail(cut)
}

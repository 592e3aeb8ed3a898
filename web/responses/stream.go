package responses

import (
	"context"
	"encoding/json"
	"net/http"

	"molar/schemas/responses"
	"molar/web/wire"
)

// stream sends the events after number n; they are numbered from 1 here. A failure is answered with
// its HTTP status until the first event is sent.
func (s *Surface) stream(w http.ResponseWriter, r *http.Request, l *live, n int) {
	st := wire.NewStream(w)
	st.Open = func(h http.Header) { h.Set(turnIDHeader, l.turn.ID) }
	st.Committed = n > 0
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	st.Start(s.KeepAlive, gone)
	defer st.Close()
	for began := false; ctx.Err() == nil; began = true {
		events, err := l.log.After(ctx, n)
		if err == nil && len(events) == 0 && !began && ctx.Err() == nil {
			events = l.lastOf(ctx, n)
		}
		if err != nil || len(events) == 0 {
			s.endStream(st, l, err, ctx.Err() != nil)
			return
		}
		n += len(events)
		if s.send(st, l, events) != nil {
			return
		}
	}
}

// send writes events, immediately or together with events that follow within milliseconds.
func (s *Surface) send(st *wire.Stream, l *live, events []encodedEvent) error {
	st.Lock()
	defer st.Unlock()
	if ended, err := st.Ended(); ended {
		return err
	}
	last := ""
	for _, ev := range events {
		last = ev.Type
		if (last == "error" || last == "response.failed") && !st.Committed && l.isBlankFailure() {
			return nil // endStream answers with a status
		}
		switch last {
		case "response.queued", "response.created", "response.in_progress":
		default:
			st.Committed = true
		}
		st.Buf = append(st.Buf, "event: "+last+"\n"+wire.EventStart...)
		st.Buf = append(st.Buf, ev.Data...)
		st.Buf = append(st.Buf, wire.EventEnd...)
	}
	if last == "response.output_text.delta" && st.MayWait() {
		return nil
	}
	return st.Write()
}

// lastOf returns the last event of an ended response whose replica has died, for a client that has
// received n events from that replica, possibly more than are here. It returns nothing if the
// client needs no event.
func (l *live) lastOf(ctx context.Context, n int) []encodedEvent {
	have, _, _ := l.log.State()
	if n < have || have == 0 || n == have && !l.turn.IsBroken() {
		return nil
	}
	last, err := l.log.After(ctx, have-1) // it exists, so this does not block
	if err != nil {
		return nil
	}
	return []encodedEvent{renumbered(last[0], n)}
}

// renumbered returns an event with at least this number, for a client that has the events below it.
func renumbered(t encodedEvent, number int) encodedEvent {
	var ev Event
	if json.Unmarshal(t.Data, &ev) != nil || ev.Sequence >= number {
		return t
	}
	ev.Sequence = number
	return encode(ev)
}

// isBlankFailure reports whether the response, whose last events are in the log, failed before its
// first item.
func (l *live) isBlankFailure() bool {
	<-l.done // it is closed soon after the last events
	return l.failure != nil && l.blank
}

// endStream closes a stream whose events are all written, or answers with the failure.
func (s *Surface) endStream(st *wire.Stream, l *live, err error, gone bool) {
	st.Lock()
	defer st.Unlock()
	if ended, _ := st.Ended(); ended || gone {
		return
	}
	if err == nil && l.failure != nil && !st.Committed {
		err = l.failure
	}
	if err != nil && !st.Committed {
		writeError(st.Writer(), err)
		return
	}
	if err != nil || l.failure != nil && !l.render.Began { // the client has not received an event of a response
		e := failure(err)
		if err == nil {
			e = l.failure
		}
		b := encode(Event{Type: "error", Error: &responses.EventError{Type: e.Kind, Code: &e.Code, Message: e.Message}})
		st.Buf = append(st.Buf, "event: error\n"+wire.EventStart...)
		st.Buf = append(append(st.Buf, b.Data...), wire.EventEnd...)
	}
	st.Committed, st.Done = true, true
	st.Buf = append(st.Buf, wire.EventLast...)
	_ = st.Write() // the reader may be gone
}

// streamAgain replays a stored response whose events are no longer in memory. A client that has
// some of them receives only the last one, which contains the whole response.
func (s *Surface) streamAgain(w http.ResponseWriter, r *record, after int) {
	all := replay(r.Response)
	if after > 0 && len(all) > 0 {
		all = []encodedEvent{renumbered(all[len(all)-1], after)}
	}
	st := wire.NewStream(w)
	st.Start(s.KeepAlive, func() {})
	defer st.Close()
	st.Lock()
	defer st.Unlock()
	for _, ev := range all {
		st.Buf = append(st.Buf, "event: "+ev.Type+"\n"+wire.EventStart...)
		st.Buf = append(append(st.Buf, ev.Data...), wire.EventEnd...)
	}
	st.Committed, st.Done = true, true
	st.Buf = append(st.Buf, wire.EventLast...)
	_ = st.Write() // the reader may be gone
}

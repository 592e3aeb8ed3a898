package responses

import (
	"context"
	"encoding/json"
	"net/http"

	"molar/web/wire"
)

// stream sends the events after number n, counted from 1. A failure still gets its status
// until the first event is sent.
func (s *Surface) stream(w http.ResponseWriter, r *http.Request, l *live, n int) {
	st := wire.NewStream(w)
	st.Open = func(h http.Header) { h.Set(turnIDHeader, l.turn.ID) }
	st.Committed = n > 0
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	st.Start(s.KeepAlive, gone)
	defer st.Close()
	for told := false; ctx.Err() == nil; told = true {
		events, err := l.log.After(ctx, n)
		if err == nil && len(events) == 0 && !told && ctx.Err() == nil {
			events = l.missed(ctx, n)
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

// send writes events, now or with those that follow at once.
func (s *Surface) send(st *wire.Stream, l *live, events []told) error {
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

// missed returns what a client that has n events of an ended response, maybe more than are
// here, still lacks: its last event, if the replica that ran the turn has died.
func (l *live) missed(ctx context.Context, n int) []told {
	have, _, _ := l.log.State()
	if n < have || have == 0 || n == have && !l.turn.IsBroken() {
		return nil
	}
	last, err := l.log.After(ctx, have-1) // is there
	if err != nil {
		return nil
	}
	return []told{renumbered(last[0], n)}
}

// renumbered gives an event at least this number, for a client that has those below.
func renumbered(t told, number int) told {
	var ev Event
	if json.Unmarshal(t.Data, &ev) != nil || ev.Sequence >= number {
		return t
	}
	ev.Sequence = number
	return encode(ev)
}

// isBlankFailure reports whether the response, which has its last events, failed before
// anything else was sent.
func (l *live) isBlankFailure() bool {
	<-l.done // at once
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
	if err != nil || l.failure != nil && !l.render.Began { // no event of a response came before
		e := failure(err)
		if err == nil {
			e = l.failure
		}
		b := encode(Event{Type: "error", Error: &EventError{Type: e.Kind, Code: &e.Code, Message: e.Message}})
		st.Buf = append(st.Buf, "event: error\n"+wire.EventStart...)
		st.Buf = append(append(st.Buf, b.Data...), wire.EventEnd...)
	}
	st.Committed, st.Done = true, true
	st.Buf = append(st.Buf, wire.EventLast...)
	_ = st.Write() // the reader may be gone
}

// streamAgain replays a stored response whose events are no longer held. A client that has
// some of them gets the last alone, which contains everything.
func (s *Surface) streamAgain(w http.ResponseWriter, r *record, after int) {
	all := replay(r.Response)
	if after > 0 && len(all) > 0 {
		all = []told{renumbered(all[len(all)-1], after)}
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

package web

import (
	"net/http"
	"time"

	"molar/agent"
)

// start begins the time of the stream. giveUp ends the turn of a client that is gone.
func (st *streamer) start(keepAlive time.Duration, giveUp func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.keepAlive, st.giveUp = keepAlive, giveUp
	st.clock = time.AfterFunc(maxHold, st.tick)
}

// close ends it: nothing is written any more.
func (st *streamer) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	st.clock.Stop()
}

// tick sends the text that waited, or shows that the stream lives. The first one opens
// it.
func (st *streamer) tick() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed || st.done || st.broken != nil {
		return
	}
	if !st.joined {
		st.comment()
	}
	st.broken = st.write()
	if st.broken != nil {
		st.giveUp()
	}
}

// send writes an event, now or soon.
func (st *streamer) send(it item) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.broken != nil || st.closed {
		return st.broken
	}
	st.takeNumbered(it)
	if st.mayWait(it.event.Kind) {
		if !st.joined {
			st.joined = true
			st.clock.Reset(joinFor)
		}
		return nil
	}
	st.broken = st.flush()
	return st.broken
}

// mayWait says whether what was taken in last is text that may be sent with the next.
// HTML is made of what is sent, and never by the clock.
func (st *streamer) mayWait(kind agent.EventKind) bool {
	return kind == agent.EventText && st.html == nil && st.opened && len(st.buf) < flushSize &&
		(st.joined || time.Since(st.spokeAt) < joinFor)
}

// comment adds a sign of life, which also opens the stream.
func (st *streamer) comment() {
	st.committed = true
	if st.opened {
		st.buf = append(st.buf, ": keep-alive"+eventEnd...)
	}
}

// flush sends what is held, with its HTML, if the stream may begin.
func (st *streamer) flush() error {
	if !st.done {
		st.render(false)
	}
	return st.write()
}

// write sends what is held, if the stream may begin, and sets the clock anew.
func (st *streamer) write() error {
	if st.broken != nil || !st.committed || st.opened && len(st.buf) == 0 {
		return st.broken
	}
	now := time.Now()
	st.extendDeadline(now)
	if !st.opened {
		st.open()
	}
	if st.spoke {
		st.spokeAt = now
	}
	st.joined = false
	_, err := st.w.Write(st.buf)
	st.buf = st.buf[:0]
	if err != nil {
		return err
	}
	if st.done {
		st.clock.Stop()
	} else {
		st.clock.Reset(st.keepAlive)
	}
	return st.rc.Flush()
}

func (st *streamer) open() {
	st.opened = true
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Should-Retry", "false")
	h.Set(turnIDHeader, st.id.turn)
	st.w.WriteHeader(http.StatusOK)
	st.buf = append([]byte(": ok"+eventEnd), st.buf...)
}

// extendDeadline keeps the limit of the next write between five sixths of
// writeLimit and all of it; setting it for every token would cost more than the
// token. A writer without deadlines has none.
func (st *streamer) extendDeadline(now time.Time) {
	if st.deadline.Sub(now) < writeLimit*5/6 {
		st.deadline = now.Add(writeLimit)
		_ = st.rc.SetWriteDeadline(st.deadline)
	}
}

package wire

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// maxHold is how long a stream waits for output before its headers are sent. Until then a
	// failure is answered with its HTTP status.
	maxHold = time.Second
	// joinFor is how long a piece of text may wait for the next one, if the one before was sent
	// within that time. Without it, a fast model would cost a write, and a packet, for every few
	// letters.
	joinFor = 2 * time.Millisecond
	// joinSize is the room, in bytes, that is made when pieces come fast: enough for those of a
	// fast model, so that the buffer does not grow with each.
	joinSize = 4 << 10
	// flushSize is the maximum size of the text that waits, in bytes.
	flushSize = 16 << 10
	// WriteLimit is the time limit of one write, after which the connection is dropped.
	WriteLimit = 30 * time.Second
)

// Delimiters of an event's data.
const (
	EventStart = "data: "
	EventEnd   = "\n\n"
	// EventLast closes a stream.
	EventLast = EventStart + "[DONE]" + EventEnd
)

// A Stream writes server-sent events. It sends the headers as late as possible, so that a failure
// can be answered with its HTTP status, joins pieces of text that come fast, and keeps a silent
// connection alive. Callers must hold the lock to use its fields and the methods Ended, MayWait and
// Write.
type Stream struct {
	sync.Mutex
	// Buf has the unsent events; each is complete.
	Buf []byte
	// Committed is set when the answer is certain to be a stream. Nothing is sent before.
	Committed bool
	// Done is set with the last event: nothing is written after the content of Buf.
	Done bool
	// Open sets additional headers.
	Open func(http.Header)

	w  http.ResponseWriter
	rc *http.ResponseController
	// clock is the timer that writes delayed text and keeps the stream alive.
	clock     *time.Timer
	keepAlive time.Duration
	giveUp    func()
	// broken is the error of a failed write. Nothing is written after it, nor when closed is set.
	broken error
	closed bool
	opened bool
	// joined is set while text waits for the clock; wroteAt is the time of the last write.
	joined  bool
	wroteAt time.Time
	// deadline is the write deadline as last set.
	deadline time.Time
}

// NewStream returns a stream that has not sent anything.
func NewStream(w http.ResponseWriter) *Stream { return &Stream{w: w, rc: controller(w)} }

// controller returns a controller of the writer that gin's writer wraps, because gin's Flush drops
// the error for a client that has disconnected.
func controller(w http.ResponseWriter) *http.ResponseController {
	if wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = wrapper.Unwrap()
	}
	return http.NewResponseController(w)
}

// Writer returns the writer of the stream.
func (s *Stream) Writer() http.ResponseWriter { return s.w }

// Start starts the clock of the stream. giveUp is called when a write by the clock fails.
func (s *Stream) Start(keepAlive time.Duration, giveUp func()) {
	s.Lock()
	defer s.Unlock()
	s.keepAlive, s.giveUp = keepAlive, giveUp
	s.clock = time.AfterFunc(maxHold, s.tick)
}

// Close closes the stream. Nothing is written afterwards.
func (s *Stream) Close() {
	s.Lock()
	defer s.Unlock()
	s.closed = true
	s.clock.Stop()
}

// tick sends delayed text, or a comment that keeps the stream alive. The first comment opens the
// stream.
func (s *Stream) tick() {
	s.Lock()
	defer s.Unlock()
	if s.closed || s.Done || s.broken != nil {
		return
	}
	if !s.joined {
		s.comment()
	}
	if s.Write() != nil {
		s.giveUp()
	}
}

// comment adds a keep-alive comment, which also opens the stream.
func (s *Stream) comment() {
	s.Committed = true
	if s.opened {
		s.Buf = append(s.Buf, ": keep-alive"+EventEnd...)
	}
}

// Ended reports whether the stream accepts no more events, with the error of a failed write.
func (s *Stream) Ended() (bool, error) { return s.broken != nil || s.closed, s.broken }

// MayWait reports whether the text in Buf may wait for the next piece or the clock. If not, the
// caller calls Write.
func (s *Stream) MayWait() bool {
	if !s.opened || len(s.Buf) >= flushSize || !s.joined && time.Since(s.wroteAt) >= joinFor {
		return false
	}
	if !s.joined {
		s.Buf = slices.Grow(s.Buf, joinSize)
		s.joined = true
		s.clock.Reset(joinFor)
	}
	return true
}

// Write sends the buffer, if Committed is set, and resets the clock.
func (s *Stream) Write() error {
	if s.broken != nil || !s.Committed || s.opened && len(s.Buf) == 0 {
		return s.broken
	}
	now := time.Now()
	s.extendDeadline(now)
	if !s.opened {
		s.open()
	}
	s.wroteAt, s.joined = now, false
	_, s.broken = s.w.Write(s.Buf)
	s.Buf = s.Buf[:0]
	if s.broken != nil {
		return s.broken
	}
	if s.Done {
		s.clock.Stop()
	} else {
		s.clock.Reset(s.keepAlive)
	}
	s.broken = s.rc.Flush()
	return s.broken
}

func (s *Stream) open() {
	s.opened = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Should-Retry", "false")
	if s.Open != nil {
		s.Open(h)
	}
	s.w.WriteHeader(http.StatusOK)
	s.Buf = append([]byte(": ok"+EventEnd), s.Buf...)
}

// extendDeadline keeps the time limit of the next write between five sixths of WriteLimit and all
// of it, since setting the deadline for every token would cost more than the token. It does nothing
// for a writer without deadlines.
func (s *Stream) extendDeadline(now time.Time) {
	if s.deadline.Sub(now) < WriteLimit*5/6 {
		s.deadline = now.Add(WriteLimit)
		_ = s.rc.SetWriteDeadline(s.deadline)
	}
}

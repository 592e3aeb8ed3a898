package wire

import (
	"net/http"
	"sync"
	"time"
)

const (
	// maxHold is how long a stream waits for output before its headers go out. Until then a
	// failure still gets a proper HTTP status.
	maxHold = time.Second
	// joinFor is how long a piece of text may wait for the next one, if the one before was
	// sent as recently: a model faster than that would otherwise cost a write, and a packet,
	// for every few letters.
	joinFor = 2 * time.Millisecond
	// flushSize is the most that is collected then, in bytes.
	flushSize = 16 << 10
	// WriteLimit is how long one write may take before the reader is dropped.
	WriteLimit = 30 * time.Second
)

// Delimiters of an event's data.
const (
	EventStart = "data: "
	EventEnd   = "\n\n"
	// EventLast closes a stream.
	EventLast = EventStart + "[DONE]" + EventEnd
)

// A Stream writes server-sent events: it opens the answer as late as it may, so that a failure
// still gets its status, joins fast text, and keeps a silent connection alive. Callers that
// use its fields, or a method below [Stream.MayWait], hold the lock.
type Stream struct {
	sync.Mutex
	// Buf holds the unsent events, each whole.
	Buf []byte
	// Committed is set once the answer is certain to be a stream; nothing is sent before.
	Committed bool
	// Done is set with the last event: nothing is written after the contents of Buf.
	Done bool
	// Open adds to the headers that go out first.
	Open func(http.Header)

	w  http.ResponseWriter
	rc *http.ResponseController
	// clock writes delayed text, and keeps the stream alive.
	clock     *time.Timer
	keepAlive time.Duration
	giveUp    func()
	// broken is the error of a write; nothing is written after it, or once closed.
	broken error
	closed bool
	opened bool
	// joined is set while text waits for the clock; wroteAt is when something was last sent.
	joined  bool
	wroteAt time.Time
	// deadline is the write deadline as last set.
	deadline time.Time
}

// NewStream returns a stream that has not begun.
func NewStream(w http.ResponseWriter) *Stream { return &Stream{w: w, rc: controller(w)} }

// controller looks below gin's writer, whose Flush swallows the error of a client that is
// gone.
func controller(w http.ResponseWriter) *http.ResponseController {
	if wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = wrapper.Unwrap()
	}
	return http.NewResponseController(w)
}

// Writer returns the writer of the stream.
func (s *Stream) Writer() http.ResponseWriter { return s.w }

// Start starts the clock of the stream. giveUp is called when the client is gone.
func (s *Stream) Start(keepAlive time.Duration, giveUp func()) {
	s.Lock()
	defer s.Unlock()
	s.keepAlive, s.giveUp = keepAlive, giveUp
	s.clock = time.AfterFunc(maxHold, s.tick)
}

// Close closes the stream: nothing is written any more.
func (s *Stream) Close() {
	s.Lock()
	defer s.Unlock()
	s.closed = true
	s.clock.Stop()
}

// tick sends delayed text, or a comment that keeps the stream alive. The first one opens it.
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

// Ended reports whether nothing more is written, with the error of a failed write.
func (s *Stream) Ended() (bool, error) { return s.broken != nil || s.closed, s.broken }

// MayWait reports whether a piece of text in Buf may wait for the next one, or for the clock;
// else the caller calls Write.
func (s *Stream) MayWait() bool {
	if !s.opened || len(s.Buf) >= flushSize || !s.joined && time.Since(s.wroteAt) >= joinFor {
		return false
	}
	if !s.joined {
		s.joined = true
		s.clock.Reset(joinFor)
	}
	return true
}

// Write sends the buffer, if the stream may begin, and resets the clock.
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

// extendDeadline keeps the limit of the next write between five sixths of
// WriteLimit and all of it; setting it for every token would cost more than the
// token. A writer without deadlines has none.
func (s *Stream) extendDeadline(now time.Time) {
	if s.deadline.Sub(now) < WriteLimit*5/6 {
		s.deadline = now.Add(WriteLimit)
		_ = s.rc.SetWriteDeadline(s.deadline)
	}
}

package transport

import (
	"fmt"
	"time"
)

const (
	// floodRate is how much output that is not a message a server may write in a second,
	// floodSeconds for how many seconds in a row it may write more.
	floodRate    = 256 << 10
	floodSeconds = 30
)

// A flood notices a server that writes what is not a message without end: a burst is let
// pass, however large.
type flood struct {
	second  time.Time // the running one began then
	size    int       // of what came in it
	seconds int       // so many in a row, before the running one, brought more than floodRate
}

// add takes so many bytes that are no message and reports whether they have no end.
func (f *flood) add(size int) bool {
	now := time.Now()
	if past := now.Sub(f.second); past >= time.Second {
		f.seconds++
		if f.size <= floodRate || past >= 2*time.Second {
			f.seconds = 0
		}
		f.second, f.size = now, 0
	}
	f.size += size
	return f.seconds >= floodSeconds
}

// A FloodError is the end of a connection whose server wrote what is not a message without
// end.
type FloodError struct{ first string }

func (e *FloodError) Error() string {
	return fmt.Sprintf("it writes without end what is no message, beginning with %q: its log belongs on standard error", e.first)
}

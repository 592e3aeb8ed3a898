package transport

import (
	"fmt"
	"time"
)

const (
	// floodRate bounds the non-message output of a server in a second, in bytes; floodSeconds
	// bounds how many seconds in a row may exceed it.
	floodRate    = 256 << 10
	floodSeconds = 30
)

// A flood detects a server that writes non-messages endlessly. It lets any burst pass, however
// large.
type flood struct {
	secondStart time.Time // start of the current second
	size        int       // bytes in the current second
	seconds     int       // seconds in a row before the current one above floodRate
}

// add counts bytes of non-messages and reports whether they are endless.
func (f *flood) add(size int) bool {
	now := time.Now()
	if past := now.Sub(f.secondStart); past >= time.Second {
		f.seconds++
		if f.size <= floodRate || past >= 2*time.Second {
			f.seconds = 0
		}
		f.secondStart, f.size = now, 0
	}
	f.size += size
	return f.seconds >= floodSeconds
}

// A FloodError ends a connection whose server writes non-messages endlessly.
type FloodError struct{ first string }

func (e *FloodError) Error() string {
	return fmt.Sprintf("it writes without end what is no message, beginning with %q: its log belongs on standard error", e.first)
}

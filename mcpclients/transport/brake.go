package transport

import (
	"bytes"
	"io"
	"time"
)

const (
	// idleRate is how many bytes a second are read from a server that nobody waits for, and busyRate
	// from any other. perLine is how many bytes a line counts for besides its own: it is decoded.
	idleRate, busyRate = 1 << 20, 64 << 20
	perLine            = 128
	// burst is for how long a server may write at any rate, after it was quiet; nap bounds a pause, which
	// may delay an answer.
	burst = time.Second
	nap   = 64 * time.Millisecond
)

// A brake reads no faster than it is worth: a program that writes without end stops when its pipe is
// full, and so takes the processors neither for its writing nor for its reading.
type brake struct {
	io.Reader
	// busy reports whether somebody waits for the server.
	busy func() bool
	// end ends a pause.
	end <-chan struct{}
	// paid is until when what was read is paid for.
	paid time.Time
}

// Read implements [io.Reader].
func (b *brake) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	rate := idleRate
	if b.busy() {
		rate = busyRate
	}
	cost := n + perLine*bytes.Count(p[:n], []byte{'\n'})
	now := time.Now()
	if least := now.Add(-burst); b.paid.Before(least) {
		b.paid = least
	}
	b.paid = b.paid.Add(time.Duration(cost) * time.Second / time.Duration(rate))
	if most := now.Add(nap); b.paid.After(most) {
		b.paid = most
	}
	if pause := b.paid.Sub(now); pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.end:
		}
	}
	return n, err
}

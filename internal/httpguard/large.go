package httpguard

import (
	"errors"
	"io"
)

// Limits of bodies with files, as multiples of MaxBody: of one body, and of all together.
const (
	withFiles = 8
	inFlight  = 64
)

// ErrBusy is the error of reading a large body while too many others are in flight.
var ErrBusy = errors.New("too many large requests are in flight")

// A largeBody takes its share of the limit for all large bodies, once it proves to be one.
type largeBody struct {
	io.ReadCloser
	guard *guard
	size  int64 // as announced; -1 when it is not
	read  int64
	taken int64
}

// Read implements io.Reader.
func (b *largeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.guard.maxBody && b.taken == 0 && !b.take() {
		return 0, ErrBusy
	}
	return n, err
}

func (b *largeBody) take() bool {
	size := b.size
	if size < 0 {
		size = withFiles * b.guard.maxBody
	}
	if b.guard.large.Add(size) > inFlight*b.guard.maxBody {
		b.guard.large.Add(-size)
		return false
	}
	b.taken = size
	return true
}

// release gives the share back when the request has ended.
func (b *largeBody) release() { b.guard.large.Add(-b.taken) }

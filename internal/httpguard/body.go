package httpguard

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// bodyTime is how long a body may take to arrive, so that a client cannot hold a connection by
// sending it drop by drop.
const bodyTime = time.Minute

// timely limits the time of a body only: when it has been read to its end, the deadline is
// removed, which would cut the answer. On any other error it stays: net/http reads the rest of
// a body before it answers, and must not wait there.
func timely(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Now().Add(bodyTime)) != nil {
		return body // no connection, as in a test
	}
	return &timelyBody{body, w.Header(), conn}
}

type timelyBody struct {
	io.ReadCloser
	header http.Header
	conn   *http.ResponseController
}

// Read implements io.Reader.
func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		_ = b.conn.SetReadDeadline(time.Time{}) // fails only if the connection is gone
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.header.Set("Connection", "close")
	}
	return n, err
}

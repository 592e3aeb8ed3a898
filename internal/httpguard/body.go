package httpguard

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// bodyTime is how long a body may take to arrive, so that nobody holds a connection by
// sending it drop by drop.
const bodyTime = time.Minute

// timely bounds the time of a body, and of nothing else: as soon as it has been read to its
// end, the deadline is taken away, which would cut the answer. On any other error it
// stays: net/http reads what is left of a body before it answers, and must not wait there.
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
		_ = b.conn.SetReadDeadline(time.Time{}) // a connection that is gone has none
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.header.Set("Connection", "close")
	}
	return n, err
}

package httpguard

import (
	"io"
	"net/http"
	"time"
)

// bodyTime is how long a body may take to arrive, so that nobody holds a connection by
// sending it drop by drop.
const bodyTime = time.Minute

// timely bounds the time of a body, and of nothing else: as soon as it has been read,
// the deadline is taken away, which would cut the answer.
func timely(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Now().Add(bodyTime)) != nil {
		return body // no connection, as in a test
	}
	return &timelyBody{body, conn}
}

type timelyBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

// Read implements io.Reader.
func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.conn.SetReadDeadline(time.Time{}) // a connection that is gone has none
	}
	return n, err
}

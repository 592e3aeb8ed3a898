package wire

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// NewPost returns a request with a body. net/http keeps a request until its answer has ended, and an
// answer may take minutes: forget, called once the answer begins, drops the bytes when the last
// of them are sent.
func NewPost(ctx context.Context, address string, data []byte) (req *http.Request, forget func(), err error) {
	b := &postBody{data: data}
	req, err = http.NewRequestWithContext(ctx, http.MethodPost, address, b.open())
	if err != nil {
		return nil, nil, err
	}
	req.ContentLength = int64(len(data))
	req.GetBody = func() (io.ReadCloser, error) { return b.open(), nil }
	return req, b.forget, nil
}

// postBody holds the bytes of a body for its readers.
type postBody struct {
	mu      sync.Mutex
	data    []byte
	readers int
	over    bool
}

func (b *postBody) open() io.ReadCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers++
	return &postReader{body: b}
}

func (b *postBody) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.drop()
}

func (b *postBody) drop() {
	if b.over && b.readers == 0 {
		b.data = nil
	}
}

type postReader struct {
	body   *postBody
	read   int
	closed bool
}

// Read implements [io.Reader].
func (r *postReader) Read(p []byte) (int, error) {
	r.body.mu.Lock()
	defer r.body.mu.Unlock()
	if r.closed || r.read == len(r.body.data) {
		return 0, io.EOF
	}
	n := copy(p, r.body.data[r.read:])
	r.read += n
	return n, nil
}

// Close implements [io.Closer].
func (r *postReader) Close() error {
	r.body.mu.Lock()
	defer r.body.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.body.readers--
		r.body.drop()
	}
	return nil
}

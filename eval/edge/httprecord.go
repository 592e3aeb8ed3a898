package edge

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Transport wraps the transport of a model service.
func (r *Recorder) Transport(base http.RoundTripper) http.RoundTripper {
	return recordedTransport{base: base, r: r}
}

type recordedTransport struct {
	base http.RoundTripper
	r    *Recorder
}

// RoundTrip records method, path and bodies. Headers are not recorded: the key is in
// them.
func (t recordedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	x := t.r.begin(req.Context(), req.Method, t.r.redact.Path(req.URL), body)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		x.end(0, "", err)
		return nil, err
	}
	resp.Body = &teed{ReadCloser: resp.Body, x: x, status: resp.StatusCode, contentType: resp.Header.Get("Content-Type")}
	return resp, nil
}

// takeBody reads the body of a request and puts it back.
func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return body, nil
}

// teed records a body as it is read, chunk by chunk.
type teed struct {
	io.ReadCloser
	x           *exchange
	status      int
	contentType string
}

func (t *teed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		t.x.chunk(p[:n])
	}
	switch {
	case errors.Is(err, io.EOF):
		t.x.end(t.status, t.contentType, nil)
	case err != nil:
		t.x.end(t.status, t.contentType, err)
	}
	return n, err
}

// Close ends the exchange where the reader stopped.
func (t *teed) Close() error {
	t.x.end(t.status, t.contentType, nil)
	return t.ReadCloser.Close()
}

package tape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Transport answers model requests from the tape. base is used only if the model is live.
func (p *Player) Transport(base http.RoundTripper) http.RoundTripper {
	if p.cfg.LiveModel {
		return base
	}
	return playedTransport{p}
}

type playedTransport struct{ p *Player }

// RoundTrip finds the exchange by turn and pass. A request that the tape cannot answer gets a
// refusal that no provider retries.
func (t playedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	s := slotOf(req.Context(), req.URL.Path)
	if s.pass == passProbe {
		return t.probe(req, s, body)
	}
	x, err := t.p.take(s, req.Method, t.p.cfg.Redactor.Path(req.URL), body)
	if err != nil {
		return refusal(req, err), nil
	}
	return serve(req, x)
}

// refusal returns an error response that every wire understands.
func refusal(req *http.Request, err error) *http.Response {
	body := Refusal(http.StatusBadRequest, err.Error())
	return response(req, http.StatusBadRequest, "application/json", io.NopCloser(bytes.NewReader(body)))
}

func response(req *http.Request, status int, contentType string, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, ContentLength: -1, Body: body, Request: req,
	}
}

// serve returns the response of an exchange, chunk by chunk.
func serve(req *http.Request, x *exchange) (*http.Response, error) {
	body := &chunkReader{}
	for _, c := range x.chunks {
		body.chunks = append(body.chunks, c.Bytes())
	}
	if x.end.Error != "" {
		body.failure = errors.New(x.end.Error)
		if x.end.Status == 0 && len(x.chunks) == 0 {
			return nil, body.failure
		}
	}
	return response(req, x.end.Status, x.end.ContentType, body), nil
}

// chunkReader returns at most one chunk per read.
type chunkReader struct {
	chunks  [][]byte
	rest    []byte
	failure error // the error at the end of the body; nil if it is complete
}

func (c *chunkReader) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		if len(c.chunks) == 0 {
			return 0, cmp.Or(c.failure, io.EOF)
		}
		c.rest, c.chunks = c.chunks[0], c.chunks[1:]
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *chunkReader) Close() error { return nil }

// probe answers a request that is no model call. Without one on the tape it derives the answer
// from the header, so that an imported tape needs no probes.
func (t playedTransport) probe(req *http.Request, s slot, body []byte) (*http.Response, error) {
	t.p.mu.Lock()
	x := t.p.find(s, req.Method, t.p.cfg.Redactor.Path(req.URL), body)
	if x != nil {
		t.p.used[x.request] = true
	}
	t.p.mu.Unlock()
	if x != nil && x.end != nil {
		return serve(req, x)
	}
	answer := t.p.defaultProbe(req.URL.Path)
	if answer == nil {
		return refusal(req, errNotOnTape("the tape has no "+req.Method+" "+req.URL.Path)), nil
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return response(req, http.StatusOK, "application/json", io.NopCloser(bytes.NewReader(data))), nil
}

// defaultProbe returns the answer of a model service to a request for its models, derived from
// the tape's header.
func (p *Player) defaultProbe(path string) any {
	h := p.cfg.Tape.Header
	names := []string{h.Model}
	if h.Small != "" && h.Small != h.Model {
		names = append(names, h.Small)
	}
	switch {
	case strings.HasSuffix(path, "/api/tags"), strings.HasSuffix(path, "/api/ps"):
		var models []map[string]any
		for _, name := range names {
			models = append(models, map[string]any{"name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z"})
		}
		return map[string]any{"models": models}
	case strings.HasSuffix(path, "/api/show"):
		return map[string]any{"capabilities": []string{"completion", "tools"}, "model_info": map[string]any{}}
	case strings.HasSuffix(path, "/api/version"):
		return map[string]any{"version": "0.17.4"}
	case strings.HasSuffix(path, "/models"):
		var models []map[string]any
		for _, name := range names {
			models = append(models, map[string]any{"id": name, "object": "model"})
		}
		return map[string]any{"object": "list", "data": models}
	}
	return nil
}

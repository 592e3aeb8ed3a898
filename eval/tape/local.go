package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"

	"molar/providers"
)

// overTransport routes a provider without a transport through one, so that it is recorded and
// replayed like the others.
func overTransport(p providers.Provider, edge func(http.RoundTripper) http.RoundTripper) providers.Provider {
	return local{p, edge(direct{p})}
}

type local struct {
	providers.Provider
	via http.RoundTripper
}

func (l local) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		ask := &http.Request{URL: &url.URL{}, Body: io.NopCloser(bytes.NewReader(encodeLocalRequest(req)))}
		resp, err := l.via.RoundTrip(ask.WithContext(ctx))
		if err != nil {
			yield(providers.Chunk{}, l.fault(providers.KindUnavailable, err))
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode >= http.StatusBadRequest {
			kind := providers.KindInvalid
			if resp.StatusCode >= http.StatusInternalServerError {
				kind = providers.KindUnavailable
			}
			why, _ := io.ReadAll(resp.Body) // as far as it can be read
			yield(providers.Chunk{}, l.fault(kind, errors.New(refusalMessage(why))))
			return
		}
		for dec := json.NewDecoder(resp.Body); ; {
			var c LocalChunk
			if err := dec.Decode(&c); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				yield(providers.Chunk{}, l.fault(providers.KindProtocol, err))
				return
			}
			if !yield(c.Chunk(), nil) {
				return
			}
		}
	}
}

// fault returns the provider's own error if there is one, else a new one.
func (l local) fault(kind providers.Kind, err error) error {
	if own, ok := errors.AsType[*providers.Error](err); ok {
		return own
	}
	return &providers.Error{Kind: kind, Provider: l.Name(), Err: err}
}

// direct is the innermost transport: it calls the provider.
type direct struct{ p providers.Provider }

func (d direct) RoundTrip(ask *http.Request) (*http.Response, error) {
	req, _ := ask.Context().Value(passKey{}).(providers.Request)
	next, stop := iter.Pull2(d.p.Stream(ask.Context(), req))
	return &http.Response{Body: &pulled{next: next, stop: stop}}, nil
}

// pulled is a response body that is produced while it is read.
type pulled struct {
	next func() (providers.Chunk, error, bool)
	stop func()
	rest []byte
}

func (p *pulled) Read(b []byte) (n int, err error) {
	if len(p.rest) == 0 {
		c, err, more := p.next()
		if !more {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		if p.rest, err = json.Marshal(localChunk(c)); err != nil {
			return 0, err
		}
	}
	n = copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *pulled) Close() error {
	p.stop()
	return nil
}

package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"

	"molar/mcpclients/transport"
	"molar/providers"
	"molar/toolhandler"
)

// A tap wraps the edges and records their traffic.
type tap struct {
	// recorder returns the recorder for ctx, or nil.
	recorder func(ctx context.Context) *Recorder
	// skip names servers whose frames are not recorded.
	skip []string
	// onListed is called with the answers of servers if there is no recorder.
	onListed func(server, method string, params, result json.RawMessage)
}

// Provider wraps a provider so that the transport below knows the pass. A provider without a
// transport (local) gets one.
func (t tap) Provider(p providers.Provider, local bool) providers.Provider {
	if local {
		return passing{tapLocal{p, t}}
	}
	return passing{p}
}

// tapLocal uses a transport only while there is a recorder.
type tapLocal struct {
	providers.Provider
	tap tap
}

func (l tapLocal) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	if l.tap.recorder(ctx) == nil {
		return l.Provider.Stream(ctx, req)
	}
	return overTransport(l.Provider, l.tap.Transport).Stream(ctx, req)
}

// Transport wraps the transport of a model service.
func (t tap) Transport(base http.RoundTripper) http.RoundTripper {
	return tapTransport{base: base, tap: t}
}

type tapTransport struct {
	base http.RoundTripper
	tap  tap
}

// RoundTrip records method, path and bodies. It does not record headers, which contain the key.
func (t tapTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := t.tap.recorder(req.Context())
	if r == nil {
		return t.base.RoundTrip(req)
	}
	body, err := takeBody(req)
	if err != nil {
		return nil, err
	}
	x := r.begin(req.Context(), req.Method, r.redact.Path(req.URL), body)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		x.end(0, "", err)
		return nil, err
	}
	resp.Body = &teeBody{ReadCloser: resp.Body, x: x, status: resp.StatusCode, contentType: resp.Header.Get("Content-Type")}
	return resp, nil
}

// takeBody reads the body of a request and replaces it by a copy.
func takeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return body, nil
}

// teeBody records a body as it is read, chunk by chunk.
type teeBody struct {
	io.ReadCloser
	x           *recording
	status      int
	contentType string
}

func (t *teeBody) Read(p []byte) (int, error) {
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

// Close ends the exchange, possibly before the end of the body.
func (t *teeBody) Close() error {
	t.x.end(t.status, t.contentType, nil)
	return t.ReadCloser.Close()
}

// Dial wraps the dialer of MCP servers.
func (t tap) Dial(inner transport.Dialer) transport.Dialer {
	return func(ctx context.Context, server transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
		conn, err := inner(ctx, server, notify)
		if err != nil || slices.Contains(t.skip, server.Name) {
			return conn, err
		}
		return &tapConn{Conn: conn, tap: t, server: server.Name}, nil
	}
}

// tapConn records the frames of one connection.
type tapConn struct {
	transport.Conn
	tap    tap
	server string
}

// Inner is the connection below.
func (c *tapConn) Inner() transport.Conn { return c.Conn }

func (c *tapConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r := c.tap.recorder(ctx)
	if r == nil {
		result, err := c.Conn.Request(ctx, method, params)
		if err == nil && c.tap.onListed != nil {
			c.tap.onListed(c.server, method, params, result)
		}
		return result, err
	}
	id := int(r.rpc.Add(1))
	request := frame(c.server, toServer, rpcFrame{ID: id, Method: method, Params: params})
	request.Turn, request.Slot = turnOf(ctx), toolhandler.Slot(ctx)
	r.w.Write(request)
	result, err := c.Conn.Request(ctx, method, params)
	answer, lost := rpcFrame{ID: id, Result: result}, ""
	if refused, ok := errors.AsType[*transport.RPCError](err); ok {
		answer = rpcFrame{ID: id, Error: &FrameError{Code: refused.Code, Message: refused.Message, Data: refused.Data}}
	} else if err != nil {
		answer, lost = rpcFrame{ID: id}, err.Error()
		if ctx.Err() == nil && method == MethodCall {
			r.failed(fmt.Sprintf("turn %d: a call on server %s got no answer: %v", turnOf(ctx), c.server, err))
		}
	}
	rec := frame(c.server, fromServer, answer)
	rec.Turn, rec.Error = turnOf(ctx), lost
	r.w.Write(rec)
	return result, err
}

func frame(server, dir string, f rpcFrame) *Record {
	return &Record{Type: TypeMCP, Server: server, Dir: dir, Frame: f.Encode()}
}

package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"molar/internal/telemetry"
)

// maxErrorBody is how much of an error answer is read.
const maxErrorBody = 64 << 10

// newHTTPClient returns a client with an idle pool large enough for many parallel
// calls to one server. It has no Timeout: calls bring their own deadlines, and
// the listening stream must stay open.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		MaxIdleConns:          4096,
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
	}}
}

// guardedClient returns a copy of client that caps what a server may send, keeps
// the status of refused requests, and never takes credentials to another host.
// capped is false for a transport that bounds the messages of its stream itself.
func guardedClient(client *http.Client, headers map[string]string, capped bool) *http.Client {
	guarded := *client
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	guarded.Transport = guard{base: base, headers: headers, capped: capped}
	guarded.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if from := via[0].URL; next.URL.Host != from.Host || next.URL.Scheme != from.Scheme {
			return fmt.Errorf("the server redirects to %s: put that address into the config if it is right", next.URL.Host)
		}
		if len(via) > 5 {
			return errors.New("the server redirects more than 5 times")
		}
		return nil
	}
	return &guarded
}

// A statusError is an answer to a POST that is neither success nor redirect.
type statusError struct {
	code    int
	session bool // the request belonged to a session
	text    string
	rpc     *RPCError // when the body was a JSON-RPC error
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answered HTTP %d %s%s", e.code, http.StatusText(e.code), e.text)
}

// sessionLost reports whether the server has forgotten the session. Some servers
// say so with 400 instead of 404.
func (e *statusError) sessionLost() bool {
	if !e.session {
		return false
	}
	return e.code == http.StatusNotFound ||
		(e.code == http.StatusBadRequest && strings.Contains(strings.ToLower(e.text), "session"))
}

// legacy reports whether a refused initialize may come from a server that speaks
// only the older HTTP and SSE transport.
func (e *statusError) legacy() bool {
	return e.code >= 400 && e.code < 500 && e.code != http.StatusUnauthorized && e.code != http.StatusForbidden
}

// guard watches what passes between mcp-go's transport and the network.
type guard struct {
	base    http.RoundTripper
	headers map[string]string
	capped  bool
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		return g.endSession(r)
	}
	telemetry.Inject(r.Context(), r.Header) // the request is mcp-go's own, made for this one exchange
	resp, err := g.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost && resp.StatusCode >= 400 {
		defer func() { _ = resp.Body.Close() }()
		return nil, readStatus(r, resp)
	}
	if !g.capped {
		return resp, nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	resp.Body = &cappedBody{ReadCloser: resp.Body, events: media == "text/event-stream"}
	return resp, nil
}

// endSession says goodbye: with the configured headers, which mcp-go leaves out
// here, and without waiting long for a server that hangs.
func (g guard) endSession(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), noticeTimeout)
	defer cancel() // nobody reads the body of this answer
	r = r.Clone(ctx)
	for name, value := range g.headers {
		r.Header.Set(name, value)
	}
	return g.base.RoundTrip(r)
}

func readStatus(r *http.Request, resp *http.Response) *statusError {
	e := &statusError{code: resp.StatusCode, session: r.Header.Get("Mcp-Session-Id") != ""}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var m message
	if json.Unmarshal(body, &m) == nil && !isNull(m.Error) {
		e.rpc = rpcError("", m.Error)
		body = []byte(e.rpc.Message)
	}
	text := visible(strings.ToValidUTF8(string(bytes.TrimSpace(body)), "?"))
	if text != "" && !strings.HasPrefix(text, "<") {
		e.text = ": " + cutText(text, 200)
	}
	return e
}

// A cappedBody fails when one message in it exceeds maxFrame: the whole body, or
// what stands between two blank lines of an event stream.
type cappedBody struct {
	io.ReadCloser
	events bool
	size   int
	last   byte
}

func (b *cappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		switch {
		case c == '\r':
			continue
		case b.events && c == '\n' && b.last == '\n':
			b.size = 0
		default:
			b.size++
		}
		b.last = c
	}
	if b.size > maxFrame {
		return 0, fmt.Errorf("the answer is longer than %d MiB: ask for less", maxFrame>>20)
	}
	return n, err
}

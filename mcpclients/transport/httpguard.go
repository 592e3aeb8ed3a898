package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"molar/internal/telemetry"
	"molar/internal/text"
)

// maxErrorBody bounds how much of an error answer is read, in bytes.
const maxErrorBody = 64 << 10

// maxRetryAfter bounds the wait that a server may ask for.
const maxRetryAfter = 10 * time.Minute

// NewHTTPClient returns a client with an idle pool large enough for many parallel calls to one
// server. It has no Timeout: calls have deadlines, and the listening stream must stay open.
func NewHTTPClient() *http.Client {
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

// guardedClient returns a copy of client that sends the configured headers, limits what a server may
// send, keeps the status of refused requests, and never sends credentials to another host. capped is false for a transport
// that bounds its stream's messages itself.
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

// A StatusError is an answer to a POST that is neither success nor redirect.
type StatusError struct {
	Code int
	// After is the wait that the server asks for, or 0.
	After time.Duration
	// RPC is set if the body is a JSON-RPC error.
	RPC *RPCError

	session bool // the request belonged to a session
	text    string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered HTTP %d %s%s", e.Code, http.StatusText(e.Code), e.text)
	if e.After > 0 {
		text += fmt.Sprintf(" (and asks to be left alone for %s)", e.After)
	}
	return text
}

// sessionLost reports whether the server has forgotten the session. Some servers answer 400
// instead of 404.
func (e *StatusError) sessionLost() bool {
	if !e.session {
		return false
	}
	return e.Code == http.StatusNotFound ||
		(e.Code == http.StatusBadRequest && strings.Contains(strings.ToLower(e.text), "session"))
}

// legacy reports whether a refused initialize may come from a server that speaks
// only the older HTTP and SSE transport.
func (e *StatusError) legacy() bool {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e.Code >= 400 && e.Code < 500
}

// guard filters what passes between a connection and the network.
type guard struct {
	base    http.RoundTripper
	headers map[string]string
	capped  bool
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	for name, value := range g.headers { // the request was made for this exchange only
		r.Header.Set(name, value)
	}
	if r.Method == http.MethodDelete {
		return g.endSession(r)
	}
	telemetry.Inject(r.Context(), r.Header)
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

// endSession sends the DELETE and does not wait long for a server that hangs.
func (g guard) endSession(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), noticeTimeout)
	defer cancel() // the body of this answer is not read
	return g.base.RoundTrip(r.WithContext(ctx))
}

func readStatus(r *http.Request, resp *http.Response) *StatusError {
	e := &StatusError{Code: resp.StatusCode, session: r.Header.Get("Mcp-Session-Id") != ""}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if e.Code == http.StatusTooManyRequests || e.Code == http.StatusServiceUnavailable {
		e.After = retryAfter(resp.Header, time.Now())
	}
	if m, ok := readMessage(bytes.TrimSpace(body)); ok && !IsNull(m.Error) {
		e.RPC = rpcErrorOf("", m.Error)
		body = []byte(e.RPC.Message)
	}
	content := text.Visible(strings.ToValidUTF8(string(bytes.TrimSpace(body)), "?"))
	if content != "" && !strings.HasPrefix(content, "<") {
		e.text = ": " + text.Shorten(content, 200)
	}
	return e
}

// retryAfter returns the wait of Retry-After, in seconds or as a date; 0 if there is none.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(now).Round(time.Second)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// A cappedBody fails if one message in it exceeds maxFrame: the whole body, or one event of an
// event stream.
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

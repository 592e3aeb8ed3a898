package wire_test

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/schemas"
)

// host is the address of the service of a [network].
const host = "llm.internal.example:8080"

// A network is an HTTP server that is reached through pipes, so that in a synctest bubble it uses
// the bubble's clock.
type network struct {
	client *http.Client
	asked  atomic.Int32 // calls of a model
	busy   atomic.Int32 // calls of a model that are being answered
	answer http.HandlerFunc

	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// connect starts a service that answers each call of a model with answer.
func connect(t testing.TB, answer http.HandlerFunc) *network {
	t.Helper()
	n := &network{answer: answer, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.close = sync.OnceFunc(func() { close(n.closed) })
	transport := &http.Transport{DialContext: n.dial}
	n.client = &http.Client{Transport: transport}
	server := &http.Server{Handler: n, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(n) })
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
	return n
}

// serve starts the service of a wire, and returns a provider for it.
func (w adapter) serve(t testing.TB, does answering) (*network, providers.Provider) {
	t.Helper()
	n := connect(t, does(w))
	p, err := w.at(place{host: host, client: n.client})
	if err != nil {
		t.Fatal(err)
	}
	return n, p
}

// wantIdle checks in a synctest bubble that no call is still being answered.
func (n *network) wantIdle(t testing.TB) {
	t.Helper()
	synctest.Wait()
	if n.busy.Load() > 0 {
		t.Error("the service is not let go")
	}
}

func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body := answerOther(r); body != nil {
		_, _ = io.Copy(w, body)
		return
	}
	n.asked.Add(1)
	n.busy.Add(1)
	defer n.busy.Add(-1)
	_, _ = io.Copy(io.Discard, r.Body)
	n.answer(w, r)
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept returns the next connection.
func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.conns:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (n *network) Close() error { n.close(); return nil }

// Addr returns an address without meaning.
func (n *network) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }

// question returns a simple request.
func question() providers.Request {
	return providers.Request{Model: "m", Pass: providers.PassAnswer, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "q")}}
}

// answering answers a call in the form of a wire.
type answering func(w adapter) http.HandlerFunc

// status answers with a status, a message, and pairs of header and value.
func status(code int, message string, header ...string) answering {
	return func(a adapter) http.HandlerFunc {
		body := ""
		if message != "" {
			body = a.refusal(code, message)
		}
		return page(code, body, header...)(a)
	}
}

// page answers with this body on every wire.
func page(code int, body string, header ...string) answering {
	return func(adapter) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
}

// sequence answers one call after the other, repeating the last answer.
func sequence(ways ...answering) answering {
	return func(a adapter) http.HandlerFunc {
		asked := 0
		return func(w http.ResponseWriter, r *http.Request) {
			way := ways[min(asked, len(ways)-1)]
			asked++
			way(a)(w, r)
		}
	}
}

// hangUp closes the connection without an answer, mute keeps it open.
func hangUp(adapter) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
}

func mute(adapter) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
}

// A part is a piece of a stream.
type part func(a adapter) string

func say(text string) part  { return func(a adapter) string { return a.piece(text) } }
func raw(text string) part  { return func(adapter) string { return text } }
func idle(a adapter) string { return a.idle }
func end(a adapter) string  { return a.end }
func cut(a adapter) string  { return a.cut }
func half(a adapter) string { return a.piece("never shown")[:30] }

func call(a adapter) string { return a.call("w__get_weather", `{"city":"Huế"}`) }

func broken(status int, message string) part {
	return func(a adapter) string { return a.broken(status, message) }
}

// stream answers with the parts, one after the other, each at once.
func stream(parts ...part) answering { return paced(0, nil, parts...) }

// silent sends the parts and then nothing, until the client leaves.
func silent(parts ...part) answering { return paced(0, mute, parts...) }

// abort sends the parts and breaks the connection.
func abort(parts ...part) answering { return paced(0, hangUp, parts...) }

// paced sends each part after a pause, and then runs last.
func paced(pause time.Duration, last answering, parts ...part) answering {
	return func(a adapter) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			flush := http.NewResponseController(w).Flush
			_ = flush()
			for _, p := range parts {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					return
				}
				_, _ = io.WriteString(w, p(a))
				_ = flush()
			}
			if last != nil {
				last(a)(w, r)
			}
		}
	}
}

// zipped compresses an answer and drops its last bytes.
func zipped(way answering, lost int) answering {
	return func(a adapter) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			plain := httptest.NewRecorder()
			way(a)(plain, r)
			var packed strings.Builder
			z := gzip.NewWriter(&packed)
			_, _ = io.Copy(z, plain.Body)
			_ = z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, packed.String()[:packed.Len()-lost])
		}
	}
}

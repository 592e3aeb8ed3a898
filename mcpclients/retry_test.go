package mcpclients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// gatedServer is a real server with a handler that sometimes answers in its place. It is reached
// without a network, so that a test can use a fake clock.
type gatedServer struct {
	real http.Handler
	mu   sync.Mutex
	down []http.HandlerFunc // the next answers, one each; nil refuses the connection
	came []time.Time        // the times of the handshake requests

	gate    http.HandlerFunc // answers every request until opensAt
	opensAt time.Time
}

func newGated(down ...http.HandlerFunc) *gatedServer {
	return &gatedServer{real: server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true)), down: down}
}

func (w *gatedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, refused := w.answers(r.Method, bytes.Contains(body, []byte(`"initialize"`)))
	if refused {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	out := httptest.NewRecorder()
	answer.ServeHTTP(out, r)
	return out.Result(), nil
}

// answers returns the handler of the next request; refused means that the connection is refused.
func (w *gatedServer) answers(method string, handshake bool) (answer http.Handler, refused bool) {
	if method == http.MethodGet {
		return answers(http.StatusMethodNotAllowed, ""), false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if handshake {
		w.came = append(w.came, time.Now())
	}
	if time.Now().Before(w.opensAt) {
		return w.gate, false
	}
	if len(w.down) == 0 {
		return w.real, false
	}
	next := w.down[0]
	w.down = w.down[1:]
	return next, next == nil
}

func (w *gatedServer) handshakes() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.came)
}

// shut makes gate answer every request for the given time.
func (w *gatedServer) shut(gate http.HandlerFunc, away time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate, w.opensAt = gate, time.Now().Add(away)
}

func (w *gatedServer) start(t *testing.T) *mcpclients.Manager {
	t.Helper()
	cfg := overHTTP("http://server.test/mcp")
	cfg.Protocol = transport.ProtocolHandshake // one request for each attempt
	m, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{cfg}, HTTPClient: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	synctest.Wait()
	return m
}

// answers returns a handler with a fixed answer; headers are alternating names and values.
func answers(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// The answer of a gateway in place of a server that is being deployed is not the server's own:
// the server is soon tried again, without a call.
func TestSupervise_ARefusalOnceIsTriedAgain(t *testing.T) {
	const gateway = `{"error":"upstream not ready"}`
	for _, tc := range []struct {
		name string
		down []http.HandlerFunc
		back time.Duration // at the latest
	}{
		{"500 as JSON", []http.HandlerFunc{answers(500, gateway)}, time.Second},
		{"502 as JSON", []http.HandlerFunc{answers(502, gateway)}, time.Second},
		{"503 as JSON", []http.HandlerFunc{answers(503, gateway)}, time.Second},
		{"504 as JSON", []http.HandlerFunc{answers(504, gateway)}, time.Second},
		{"503 from the server itself", []http.HandlerFunc{answers(503, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"starting"}}`)}, time.Second},
		{"200 with an error of the server", []http.HandlerFunc{answers(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"starting"}}`, "Content-Type", "application/json")}, time.Second},
		{"404", []http.HandlerFunc{answers(404, "no Route matched")}, time.Second},
		{"405", []http.HandlerFunc{answers(405, "")}, time.Second},
		{"408", []http.HandlerFunc{answers(408, "")}, time.Second},
		{"410", []http.HandlerFunc{answers(410, "")}, time.Second},
		{"429", []http.HandlerFunc{answers(429, "slow down")}, time.Second},
		{"429 with a time", []http.HandlerFunc{answers(429, "slow down", "Retry-After", "7")}, 9 * time.Second},
		{"a page in place of an answer", []http.HandlerFunc{answers(200, "<html>", "Content-Type", "text/html")}, time.Second},
		{"refused, then 503 as JSON", []http.HandlerFunc{nil, answers(503, gateway)}, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := newGated(tc.down...)
				m := web.start(t)
				defer func() { _ = m.Close() }()
				if st := status(t, m); st.State != schemas.StateFailed || !strings.Contains(st.Reason, "the host keeps trying") {
					t.Errorf("at first: %s: %s", st.State, st.Reason)
				}
				time.Sleep(tc.back)
				synctest.Wait()
				if st := status(t, m); st.State != schemas.StateReady || st.Tools != 3 {
					t.Errorf("after %s: %s: %s", tc.back, st.State, st.Reason)
				}
			})
		})
	}
}

// A ready server behind an ingress that has no route for two seconds.
func TestSupervise_AnIngressWithoutRouteIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := newGated()
		m := web.start(t)
		defer func() { _ = m.Close() }()
		web.shut(answers(404, "no Route matched"), 2*time.Second)
		if _, err := m.Call(t.Context(), "web", "add", nil); err == nil {
			t.Error("the call was answered")
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if result, err := m.Call(t.Context(), "web", "add", nil); err != nil || string(result.Output) != `"0"` {
			t.Errorf("%s, %v", result.Output, err)
		}
	})
}

// A server that sends Retry-After is not tried before that time, not even for callers.
func TestSupervise_RetryAfterIsObeyed(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			web := newGated(answers(code, "", "Retry-After", "7"))
			m := web.start(t)
			defer func() { _ = m.Close() }()
			for range 6 {
				began := time.Now()
				if _, err := m.Call(t.Context(), "web", "add", nil); !errors.Is(err, transport.ErrUnavailable) || time.Since(began) > 0 {
					t.Errorf("a caller was told %v after %s", err, time.Since(began))
				}
				time.Sleep(time.Second)
			}
			time.Sleep(4 * time.Second)
			synctest.Wait()
			came := web.handshakes()
			if len(came) != 2 || came[1].Sub(came[0]) < 7*time.Second {
				t.Errorf("asked at %v", came)
			}
			if st := status(t, m); st.State != schemas.StateReady {
				t.Errorf("%s: %s", st.State, st.Reason)
			}
		})
	}
}

// A command that exits at its start is started again, after waits that double: each try may run a
// whole package manager on a person's machine.
func TestSupervise_ACommandThatFailsOnceIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(attempt int) (*fakeConn, error) {
			if attempt == 1 {
				return nil, errors.New("the process ended (exit status 1)")
			}
			return &fakeConn{}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		if st := status(t, m); st.State != schemas.StateFailed || !strings.Contains(st.Reason, "exit status 1") || !strings.Contains(st.Reason, "the host keeps trying") {
			t.Errorf("at first: %s: %s", st.State, st.Reason)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateReady {
			t.Errorf("%d dialings, %s: %s", d.count(), st.State, st.Reason)
		}
	})
}

// A command that ends soon promises no further attempt.
func TestSupervise_NobodyKeepsTryingForACommandThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(int) (*fakeConn, error) { return nil, errors.New("the process ended (exit status 1)") }}
		m, err := mcpclients.New(mcpclients.Config{Wrap: d.wrap, Once: true, Servers: []transport.ServerConfig{{Name: "x", Command: "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		m.Start(t.Context())
		defer func() { _ = m.Close() }()
		synctest.Wait()
		if got, want := status(t, m).Reason, "the process ended (exit status 1): repair the server or correct mcpServers.x"; got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	})
}

// A server may start slowly, like a cold npx, a compiler or a container.
func TestSupervise_ASlowStartIsWaitedFor(t *testing.T) {
	for _, tc := range []struct {
		name        string
		takes, give time.Duration
	}{
		{"35 s", 35 * time.Second, 0},
		{"90 s, as configured", 90 * time.Second, 2 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := mcpclients.New(mcpclients.Config{
					Servers: []transport.ServerConfig{{Name: "s", Command: "x", StartTimeout: tc.give}},
					Wrap: func(transport.Dialer) transport.Dialer {
						return func(context.Context, transport.ServerConfig, transport.Notify) (transport.Conn, error) {
							return &slowStart{&fakeConn{done: make(chan struct{})}, tc.takes}, nil
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				m.Start(t.Context())
				defer func() { _ = m.Close() }()
				time.Sleep(tc.takes + time.Second)
				synctest.Wait()
				if st := status(t, m); st.State != schemas.StateReady {
					t.Errorf("%s: %s", st.State, st.Reason)
				}
			})
		})
	}
}

// slowStart delays the handshake.
type slowStart struct {
	*fakeConn
	takes time.Duration
}

func (c *slowStart) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "initialize" {
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return c.fakeConn.Request(ctx, method, params)
}

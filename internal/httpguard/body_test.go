package httpguard

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// piped serves one connection in memory, so that the clock of the test counts.
func piped(t *testing.T, handler http.HandlerFunc) net.Conn {
	t.Helper()
	guard, err := New(Config{Hosts: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	listener := &oneConn{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	listener.conn <- there
	server := &http.Server{Handler: guard(handler), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = here.Close()
		_ = server.Close()
		<-ended
	})
	return here
}

type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// A body that comes drop by drop is given up; an answer that takes long after a body
// that came in time is not.
func TestBody_HasItsTime(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
	synctest.Test(t, func(t *testing.T) {
		got := make(chan error, 1)
		conn := piped(t, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			got <- err
		})
		begun := time.Now()
		var client sync.WaitGroup
		client.Go(func() {
			_, err := io.WriteString(conn, head)
			for err == nil {
				time.Sleep(time.Second)
				_, err = io.WriteString(conn, "x")
			}
		})
		client.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		if err := <-got; err == nil || time.Since(begun) > bodyTime+time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		_ = conn.Close()
		client.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		conn := piped(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * bodyTime)
			if err := r.Context().Err(); err != nil {
				t.Errorf("the request ended: %v", err)
			}
			_, _ = io.WriteString(w, "late")
		})
		go func() { _, _ = io.WriteString(conn, head+string(make([]byte, 100))) }()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); string(body) != "late" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	})
}

// Once its time is over, a client is told so and its connection ends: none is held by a
// body that does not come.
func TestBody_EndsTheConnection(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
	for name, body := range map[string]struct{ head, drip string }{
		"length, silent":         {head: "Content-Length: 1000\r\n\r\n"},
		"length, dripping":       {"Content-Length: 1000\r\n\r\n", "x"},
		"large length, silent":   {head: "Content-Length: 4000000\r\n\r\n"},
		"large length, dripping": {"Content-Length: 4000000\r\n\r\n", "x"},
		"chunked, silent":        {head: "Transfer-Encoding: chunked\r\n\r\n"},
		"chunked, dripping":      {"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := piped(t, func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.ReadAll(r.Body); err != nil {
						w.WriteHeader(http.StatusBadRequest)
					}
				})
				begun := time.Now()
				answer := make(chan string, 1)
				go func() {
					read, _ := io.ReadAll(conn) // until the server ends the connection
					answer <- string(read)
				}()
				var client sync.WaitGroup
				client.Go(func() {
					_, err := io.WriteString(conn, head+body.head)
					for body.drip != "" && err == nil {
						time.Sleep(time.Second)
						_, err = io.WriteString(conn, body.drip)
					}
				})
				select {
				case got := <-answer:
					if took := time.Since(begun); !strings.HasPrefix(got, "HTTP/1.1 400 ") || took > bodyTime+time.Second {
						t.Errorf("answered %q after %v", got, took)
					}
				case <-time.After(3 * bodyTime):
					t.Error("the connection is still open")
				}
				_ = conn.Close()
				client.Wait()
			})
		})
	}
}

func TestBody_WithoutAConnection(t *testing.T) {
	body := io.NopCloser(errReader{})
	if timely(httptest.NewRecorder(), body) != body {
		t.Error("a body without a connection was wrapped")
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

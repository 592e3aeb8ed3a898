package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// One connection too many waits until another one ends, and is then served.
func TestBound(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	server := newServer(t.Context(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(boundTo(inner, 1, slog.New(slog.NewTextHandler(log, nil))))
	}()
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	answered := func(conn net.Conn, within time.Duration) bool {
		_ = conn.SetReadDeadline(time.Now().Add(within))
		n, _ := conn.Read(make([]byte, 512))
		return n > 0
	}
	first := dial()
	if !answered(first, time.Minute) {
		t.Fatal("the first connection was not served")
	}
	second := dial()
	if answered(second, 100*time.Millisecond) {
		t.Error("the second connection was served beside the first")
	}
	_ = first.Close()
	if !answered(second, time.Minute) {
		t.Error("the second connection was not served after the first")
	}
	_ = server.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "most=1") {
		t.Errorf("nobody was told: %s", log)
	}
}

package mcpclients_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// refusingConn speaks an unknown protocol revision, so that a retry cannot help.
type refusingConn struct{ *fakeConn }

func (refusingConn) Request(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"protocolVersion":"1999-01-01"}`), nil
}

// refuser refuses the first handshakes and accepts the later ones.
type refuser struct {
	fakeDialer
	attempts int
}

func (r *refuser) wrap(transport.Dialer) transport.Dialer {
	return func(context.Context, transport.ServerConfig, transport.Notify) (transport.Conn, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dialed = append(r.dialed, time.Now())
		conn := &fakeConn{done: make(chan struct{})}
		if len(r.dialed) <= r.attempts {
			return refusingConn{conn}, nil
		}
		conn.answer = func(method string, _ json.RawMessage) (json.RawMessage, error) {
			if method == "tools/list" {
				return json.RawMessage(`{"tools":[]}`), nil
			}
			return json.RawMessage(`{}`), nil
		}
		return conn, nil
	}
}

// A persistent server that refuses is tried every 10 s, no more often whatever the number of
// callers, and is used once it accepts.
func TestSupervise_PersistentServerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &refuser{attempts: 2}
		m, err := mcpclients.New(mcpclients.Config{
			Servers: []transport.ServerConfig{{Name: "s", URL: "http://127.0.0.1:1", Setting: "memory"}},
			Wrap:    d.wrap,
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Start(t.Context())
		defer func() { _ = m.Close() }()
		synctest.Wait()
		for range 15 { // callers get the error at once, and do not cause earlier tries
			began := time.Now()
			if err := m.Request(t.Context(), "s", "memory/begin_turn", nil, new(json.RawMessage)); err == nil {
				t.Fatal("answered by a server that refused")
			} else if took := time.Since(began); took > 0 || !strings.Contains(err.Error(), "look at memory in the config") {
				t.Fatalf("after %s: %v", took, err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := d.count(); n != 2 {
			t.Fatalf("asked %d times in 15 s, want 2", n)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := m.Status()[0]; got.State != schemas.StateReady {
			t.Fatalf("after 20 s: %s: %s", got.State, got.Reason)
		}
		if err := m.Request(t.Context(), "s", "memory/begin_turn", nil, new(json.RawMessage)); err != nil {
			t.Error(err)
		}
	})
}

// Any other server that refuses is not tried again.
func TestSupervise_RefusalIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &refuser{attempts: 1}
		m, err := mcpclients.New(mcpclients.Config{
			Servers: []transport.ServerConfig{{Name: "s", URL: "http://127.0.0.1:1", Protocol: transport.ProtocolHandshake}},
			Wrap:    d.wrap,
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Start(t.Context())
		defer func() { _ = m.Close() }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := d.count(); n != 1 {
			t.Errorf("asked %d times, want 1", n)
		}
	})
}

package mcpclients

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A connection is closed after 10 minutes without a call, and a call restarts that time.
func TestSeats_IdleClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := 0
		wrap := func(transport.Dialer) transport.Dialer {
			return func(context.Context, transport.ServerConfig, transport.Notify) (transport.Conn, error) {
				open++
				return &quietConn{done: make(chan struct{}), closed: func() { open-- }}, nil
			}
		}
		m, err := New(Config{Wrap: wrap, Servers: []transport.ServerConfig{{Name: "desk", URL: "http://localhost:1/mcp", AsPerson: true}}})
		if err != nil {
			t.Fatal(err)
		}
		m.Start(t.Context())
		synctest.Wait()
		call := func() {
			t.Helper()
			if _, err := m.CallFor(t.Context(), &schemas.Person{Caller: schemas.Caller{ID: "anna"}}, "desk", "add", nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{seatIdle - time.Second, 1}, {seatIdle + time.Second, 0}} {
			call()
			time.Sleep(step.wait)
			synctest.Wait()
			if open != step.want {
				t.Errorf("%s after a call %d connections are open, want %d", step.wait, open, step.want)
			}
		}
		m.Close()
	})
}

// A quietConn answers every request.
type quietConn struct {
	done   chan struct{}
	closed func()
}

func (c *quietConn) Request(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	switch method {
	case transport.MethodInitialize:
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`), nil
	case transport.MethodListTools:
		return json.RawMessage(`{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`), nil
	default:
		return json.RawMessage(`{"content":[]}`), nil
	}
}

func (c *quietConn) Notify(context.Context, string, json.RawMessage) error { return nil }
func (c *quietConn) Done() <-chan struct{}                                 { return c.done }
func (c *quietConn) Err() error                                            { return nil }
func (c *quietConn) Close() error                                          { c.closed(); close(c.done); return nil }

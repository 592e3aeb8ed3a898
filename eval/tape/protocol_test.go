package tape_test

import (
	"context"
	"encoding/json"
	"testing"

	"molar/eval/tape"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// eraConn is a server that begins in one way only.
type eraConn struct {
	stateless bool
	done      chan struct{}
}

func (c eraConn) Request(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	switch {
	case method == tape.MethodList:
		return json.RawMessage(`{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`), nil
	case method == tape.MethodDiscover && c.stateless:
		return json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"newer"}`), nil
	case method == tape.MethodInitialize && !c.stateless:
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"older"}`), nil
	}
	return nil, &transport.RPCError{Method: method, Code: -32601, Message: "unknown"}
}

func (eraConn) Notify(context.Context, string, json.RawMessage) error { return nil }
func (c eraConn) Done() <-chan struct{}                               { return c.done }
func (eraConn) Err() error                                            { return nil }
func (eraConn) Close() error                                          { return nil }

// A replay begins with each server as the recording did, whatever the server is asked first.
func TestReplay_BeginsAsRecorded(t *testing.T) {
	far, near := transport.ServerConfig{Name: "s", URL: "http://server.test/mcp"}, transport.ServerConfig{Name: "s", Command: "server"}
	pinned := far
	pinned.Protocol = "2025-11-25" // as it was recorded before servers were asked
	for _, tc := range []struct {
		name           string
		stateless      bool
		record, replay transport.ServerConfig
		protocol       string
	}{
		{"older over HTTP", false, far, far, "2025-11-25"},
		{"newer over HTTP", true, far, far, "2026-07-28"},
		{"older over stdio", false, near, near, "2025-11-25"},
		{"newer over stdio", true, near, near, "2026-07-28"},
		{"a tape without the question", false, pinned, far, "2025-11-25"},
		{"a tape without the handshake", true, far, near, "2026-07-28"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			attach := func(cfg transport.ServerConfig, wrap func(transport.Dialer) transport.Dialer) {
				t.Helper()
				m, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{cfg}, Wrap: wrap})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = m.Close() }()
				m.Start(t.Context())
				if err := m.Wait(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				want := map[bool]string{false: "older", true: "newer"}[tc.stateless]
				if st := m.Status()[0]; st.State != schemas.StateReady || st.Protocol != tc.protocol || st.Tools != 1 || m.Instructions()["s"] != want {
					t.Errorf("%+v, %q", st, m.Instructions())
				}
			}
			rec, b := record(t)
			attach(tc.record, func(transport.Dialer) transport.Dialer {
				return rec.Dial(dialTo(eraConn{stateless: tc.stateless, done: make(chan struct{})}))
			})
			p := play(t, b.Bytes(), nil)
			attach(tc.replay, func(transport.Dialer) transport.Dialer { return p.Dial(noDial(t)) })
			if causes, follows := p.Finish(); len(causes)+len(follows) > 0 {
				t.Errorf("drift %+v %+v", causes, follows)
			}
		})
	}
}

package mcpclients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// captured stores the connection that a manager dials, so that a benchmark can compare a call
// with the raw request.
type captured struct{ conn transport.Conn }

func (c *captured) wrap(dial transport.Dialer) transport.Dialer {
	return func(ctx context.Context, cfg transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
		conn, err := dial(ctx, cfg, notify)
		c.conn = conn
		return conn, err
	}
}

// attached starts a manager for a benchmark.
func attached(b *testing.B, cfg mcpclients.Config) *mcpclients.Manager {
	b.Helper()
	m, err := mcpclients.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	m.Start(b.Context())
	b.Cleanup(func() { _ = m.Close() })
	if err := m.Wait(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	for _, st := range m.Status() {
		if st.State != schemas.StateReady {
			b.Fatalf("%+v", st)
		}
	}
	return m
}

// BenchmarkCall compares a call through the manager with the raw request; the difference is the
// manager's cost.
func BenchmarkCall(b *testing.B) {
	h := handler(func(context.Context, string, string, json.RawMessage) string {
		return `{"content":[{"type":"text","text":"{\"a\":1}"}]}`
	})
	for _, server := range []transport.ServerConfig{{Name: "s", InProcess: h}, bad("s")} {
		kind := "stdio"
		if server.InProcess != nil {
			kind = "in-process"
		}
		var raw captured
		m := attached(b, mcpclients.Config{Servers: []transport.ServerConfig{server}, Wrap: raw.wrap})
		b.Run(kind+"/raw", func(b *testing.B) {
			for b.Loop() {
				if _, err := raw.conn.Request(b.Context(), "tools/call", json.RawMessage(`{"name":"echo","arguments":{"a":1}}`)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind+"/manager", func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Call(b.Context(), "s", "echo", json.RawMessage(`{"a":1}`)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCatalogue_Snapshot reads the snapshot itself, as every turn does.
func BenchmarkCatalogue_Snapshot(b *testing.B) {
	m := attached(b, servers(bad("s", "-tools=979")))
	for b.Loop() {
		if m.Catalogue() == nil {
			b.Fatal("no catalogue")
		}
	}
}

// twenty returns stub servers that wait before they answer.
func twenty(wait time.Duration) []transport.ServerConfig {
	var list []transport.ServerConfig
	for i := range 20 {
		list = append(list, bad(fmt.Sprintf("s%02d", i), "-wait="+wait.String()))
	}
	return list
}

// BenchmarkApply_OneOfTwenty changes one server of twenty and waits until it is ready again; the
// second benchmark measures that server's start alone.
func BenchmarkApply_OneOfTwenty(b *testing.B) {
	list := twenty(0)
	m := attached(b, servers(list...))
	b.Run("apply", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			list[7].Env = map[string]string{"ROUND": fmt.Sprint(i)}
			if _, err := m.Apply(b.Context(), list); err != nil {
				b.Fatal(err)
			}
			if err := m.Wait(b.Context(), []string{"s07"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("start alone", func(b *testing.B) {
		for b.Loop() {
			alone, err := mcpclients.New(servers(bad("s")))
			if err != nil {
				b.Fatal(err)
			}
			alone.Start(b.Context())
			if err := alone.Wait(b.Context(), nil); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			_ = alone.Close()
			b.StartTimer()
		}
	})
}

func TestManager_TwentyServersAttachTogether(t *testing.T) {
	began := time.Now()
	m := start(t, servers(twenty(300*time.Millisecond)...))
	took := time.Since(began)
	for _, st := range m.Status() {
		if st.State != schemas.StateReady {
			t.Errorf("%s is %s: %s", st.Name, st.State, st.Reason)
		}
	}
	t.Logf("20 servers that wait 300 ms attached in %s", took)
	if took > 1500*time.Millisecond { // one after the other takes 6 s
		t.Errorf("attached only after %s", took)
	}
}

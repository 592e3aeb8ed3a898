package mcpclients_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"molar/mcpclients"
	"molar/mcpclients/transport"
)

// A server's instructions are stored as long as its tools are known, up to a maximum length.
func TestManager_Instructions(t *testing.T) {
	hello, err := json.Marshal(map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"instructions": "Ask for the \u200b**city** first. " + strings.Repeat("rồi thời tiết ", 200),
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		down := false
		var last *fakeConn
		m, err := mcpclients.New(mcpclients.Config{
			Servers: []transport.ServerConfig{{Name: "s", Command: "x"}, {Name: "silent", Command: "x"}},
			Wrap: dialing(func(name string) (transport.Conn, error) {
				conn := &fakeConn{done: make(chan struct{})}
				if name == "silent" {
					return conn, nil
				}
				if down {
					return nil, errors.New("away")
				}
				last = conn
				return withAnswer{conn, "initialize", hello}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Start(t.Context())
		defer func() { _ = m.Close() }()
		synctest.Wait()
		check := func(when string) {
			t.Helper()
			all := m.Instructions()
			text := all["s"]
			if len(all) != 1 || !strings.HasPrefix(text, "Ask for the **city** first. rồi") || len(text) > 1<<10 || !utf8.ValidString(text) {
				t.Errorf("%s: %q", when, all)
			}
		}
		check("attached")
		down = true
		last.lose(transport.ErrLost)
		time.Sleep(time.Minute)
		check("lost")
	})
}

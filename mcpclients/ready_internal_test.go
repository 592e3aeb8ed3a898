package mcpclients

import (
	"sync"
	"testing"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// A caller that waits for a server gets its connection, also if the server tells something else first, and
// becomes ready while the caller looks.
func TestReady_WhileItLooks(t *testing.T) {
	for range 20_000 {
		s := &server{kick: make(chan struct{}, 1)}
		s.begin(&transport.ServerConfig{Name: "s", Command: "server"})
		var work sync.WaitGroup
		work.Go(func() {
			s.update(func(now *look) { now.Stderr = []string{"the first way was refused"} })
			s.conn.Store(&liveConn{})
			s.update(func(now *look) { now.attempts++; now.State = schemas.StateReady })
		})
		_, err := s.ready(t.Context())
		work.Wait()
		if err != nil {
			t.Fatal(err)
		}
	}
}

package mcpclients_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/mcpclients/transport"
)

// The tools of a lost server stay known, only their callers wait for it, and a call reconnects
// it.
func TestManager_ALostServerIsWaitedForByItsCallersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crash := fmt.Errorf("%w: it fell over", transport.ErrLost)
		d := &fakeDialer{}
		var comesBack time.Time
		d.next = func(attempt int) (*fakeConn, error) {
			if attempt > 1 && time.Now().Before(comesBack) {
				return nil, crash
			}
			return &fakeConn{answer: answerTools}, nil
		}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		if lost := m.Lost(); lost != nil {
			t.Errorf("lost while it is ready: %q", lost)
		}
		comesBack = time.Now().Add(10 * time.Minute)
		d.conn().lose(crash)
		time.Sleep(10*time.Minute + 100*time.Millisecond) // its next try is up to a minute away
		synctest.Wait()
		if diff := cmp.Diff([]string{"s"}, m.Lost()); diff != "" || m.Starting() != nil {
			t.Errorf("lost (-want +got):\n%sstarting: %q", diff, m.Starting())
		}
		if n, known := len(m.Catalogue().Tools()), len(m.Known().Tools()); n != 0 || known != 1 {
			t.Errorf("%d tools attached, %d known", n, known)
		}
		before, dialed := time.Now(), d.count()
		if err := m.WaitStarting(t.Context(), []string{"s"}); err != nil || d.count() != dialed {
			t.Errorf("%v after %d more dialings", err, d.count()-dialed)
		}
		result, err := m.Call(t.Context(), "s", "a", nil)
		if err != nil || string(result.Output) != `"fine"` {
			t.Errorf("%s, %v", result.Output, err)
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("it took %s", waited)
		}
		if n := len(m.Catalogue().Tools()); n != 1 || m.Lost() != nil {
			t.Errorf("back: %d tools, lost %q", n, m.Lost())
		}
	})
}

// A first start is waited for; after a failed one the server is neither starting nor lost.
func TestManager_WaitStarting(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, err := mcpclients.New(mcpclients.Config{
				Servers: []transport.ServerConfig{{Name: "s", Command: "x"}},
				Wrap: func(transport.Dialer) transport.Dialer {
					return func(context.Context, transport.ServerConfig, transport.Notify) (transport.Conn, error) {
						time.Sleep(3 * time.Second)
						if fails {
							return nil, errors.New("no good")
						}
						return &fakeConn{done: make(chan struct{})}, nil
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			m.Start(t.Context())
			defer func() { _ = m.Close() }()
			if diff := cmp.Diff([]string{"s"}, m.Starting()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := m.WaitStarting(short, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			began := time.Now()
			if err := m.WaitStarting(t.Context(), []string{"s", "other"}); err != nil || time.Since(began) != 2*time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
			if m.Starting() != nil || m.Lost() != nil {
				t.Errorf("starting %q, lost %q", m.Starting(), m.Lost())
			}
		})
	}
}

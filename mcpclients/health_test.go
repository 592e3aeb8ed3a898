package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestSupervise_PingsAnIdleServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(attempt int) (*fakeConn, error) { return &fakeConn{mute: attempt == 1}, nil }}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		time.Sleep(36 * time.Second)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateDegraded || !strings.Contains(st.Reason, "did not answer a ping within 5s") || st.Tools != 1 {
			t.Errorf("after one miss: %+v", st)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if d.count() != 2 {
			t.Errorf("%d dialings after two misses", d.count())
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateReady || d.count() != 2 {
			t.Errorf("%d dialings, in the end %+v", d.count(), st)
		}
	})
}

func TestSupervise_APingAnsweredInTimeForgetsTheMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pings atomic.Int32
		d := &fakeDialer{next: func(int) (*fakeConn, error) {
			return &fakeConn{mute: true, answer: func(method string, p json.RawMessage) (json.RawMessage, error) {
				if method == "ping" {
					if pings.Add(1)%2 == 1 {
						time.Sleep(5 * time.Second)
						return nil, context.DeadlineExceeded
					}
					return nil, &transport.RPCError{Code: -32601, Message: "no ping"} // an answer nevertheless
				}
				return answerTools(method, p)
			}}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		time.Sleep(10*time.Minute + time.Second)
		if st := status(t, m); d.count() != 1 || pings.Load() != 20 || st.State != schemas.StateReady {
			t.Errorf("%d dialings, %d pings, %+v", d.count(), pings.Load(), st)
		}
	})
}

func TestSupervise_ABusyServerIsNotPinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(int) (*fakeConn, error) { return &fakeConn{mute: true}, nil }}
		m, err := mcpclients.New(mcpclients.Config{
			Servers: []transport.ServerConfig{{Name: "s", Command: "x", Timeout: 20 * time.Minute}}, Wrap: d.wrap,
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Start(t.Context())
		defer func() { _ = m.Close() }()
		if _, err := m.Call(t.Context(), "s", "a", nil); !errors.Is(err, context.DeadlineExceeded) || d.count() != 1 {
			t.Errorf("%v after %d dialings", err, d.count())
		}
	})
}

func TestSupervise_BackWithinTwoSeconds(t *testing.T) {
	for _, down := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second, 59 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			lost := fmt.Errorf("%w: it fell over", transport.ErrLost)
			began := time.Now()
			d := &fakeDialer{}
			d.next = func(attempt int) (*fakeConn, error) {
				if attempt > 1 && time.Since(began) < 2*time.Minute+down {
					return nil, lost
				}
				return &fakeConn{}, nil
			}
			m := d.manager(t)
			defer func() { _ = m.Close() }()
			time.Sleep(2 * time.Minute)
			d.conn().lose(lost)
			time.Sleep(down + 2*time.Second)
			synctest.Wait()
			if st := status(t, m); st.State != schemas.StateReady || time.Since(st.Since) < 500*time.Millisecond {
				t.Errorf("down for %s: %s since %s", down, st.State, time.Since(st.Since))
			}
		})
	}
}

func TestSupervise_ReadsABrokenListAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		d := &fakeDialer{next: func(int) (*fakeConn, error) {
			return &fakeConn{answer: func(method string, p json.RawMessage) (json.RawMessage, error) {
				if broken.Load() && method == "tools/list" {
					return nil, errors.New("not now")
				}
				return answerTools(method, p)
			}}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		broken.Store(true)
		d.notify("notifications/tools/list_changed", nil)
		time.Sleep(2 * time.Second)
		if st := status(t, m); st.State != schemas.StateDegraded {
			t.Errorf("%+v", st)
		}
		broken.Store(false)
		time.Sleep(31 * time.Second)
		if st := status(t, m); st.State != schemas.StateReady || st.Tools != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestSupervise_AServerThatAlwaysChangesIsReadOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int32
		d := &fakeDialer{}
		d.next = func(int) (*fakeConn, error) {
			return &fakeConn{answer: func(method string, p json.RawMessage) (json.RawMessage, error) {
				if method == "tools/list" {
					if lists.Add(1) > 1 {
						d.notify("notifications/tools/list_changed", nil)
					}
				}
				return answerTools(method, p)
			}}, nil
		}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		d.notify("notifications/tools/list_changed", nil)
		time.Sleep(20 * time.Second)
		if n := lists.Load(); n > 22 || n < 15 {
			t.Errorf("the list was read %d times in 20 s", n)
		}
	})
}

func TestCall_ProgressExtendsTheLimit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		signs int // progress notifications, one every 40 s
		token string
		want  time.Duration // after which the call times out
	}{
		{"none", 0, "1", transport.DefaultTimeout},
		{"for another call", 9, "2", transport.DefaultTimeout},
		{"for a while", 9, "1", 6*time.Minute + transport.DefaultTimeout},
		{"as a string", 9, `"1"`, 6*time.Minute + transport.DefaultTimeout},
		{"for ever", 1000, "1", transport.MaxTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeDialer{next: func(int) (*fakeConn, error) { return &fakeConn{}, nil }}
				m := d.manager(t)
				defer func() { _ = m.Close() }()
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for range tc.signs {
						select {
						case <-time.After(40 * time.Second):
							d.notify("notifications/progress", json.RawMessage(`{"progress":1,"progressToken":`+tc.token+`}`))
						case <-ctx.Done():
							return
						}
					}
				}()
				began := time.Now()
				_, err := m.Call(ctx, "s", "a", nil)
				if took := time.Since(began); took != tc.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %s: %v", took, err)
				}
				cancel()
			})
		})
	}
}

func TestCall_RepeatsAMarkedToolOnce(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules schemas.ToolRules
		lost  int // the number of lost calls
		calls int
		ok    bool
	}{
		{"unmarked", schemas.ToolRules{}, 1, 1, false},
		{"read-only", schemas.ToolRules{ReadOnly: true}, 1, 2, true},
		{"idempotent", schemas.ToolRules{Idempotent: true}, 1, 2, true},
		{"lost twice", schemas.ToolRules{Idempotent: true}, 2, 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				d := &fakeDialer{}
				d.next = func(int) (*fakeConn, error) {
					conn := &fakeConn{}
					conn.answer = func(method string, p json.RawMessage) (json.RawMessage, error) {
						if method == "tools/call" {
							if calls++; calls <= tc.lost {
								conn.lose(transport.ErrLost)
								return nil, transport.ErrLost
							}
						}
						return answerTools(method, p)
					}
					return conn, nil
				}
				m, err := mcpclients.New(mcpclients.Config{Wrap: d.wrap, Servers: []transport.ServerConfig{{
					Name: "s", Command: "x", Rules: []transport.ToolRule{{Glob: "*", ToolRules: tc.rules}},
				}}})
				if err != nil {
					t.Fatal(err)
				}
				m.Start(t.Context())
				defer func() { _ = m.Close() }()
				_, err = m.Call(t.Context(), "s", "a", nil)
				if calls != tc.calls || (err == nil) != tc.ok || (!tc.ok && !errors.Is(err, transport.ErrLost)) {
					t.Errorf("%d calls, %v", calls, err)
				}
			})
		})
	}
}

package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// A fakeConn is a scripted connection.
type fakeConn struct {
	answer func(method string, params json.RawMessage) (json.RawMessage, error)
	mute   bool // answers no ping
	once   sync.Once
	done   chan struct{}
	err    error
}

func (c *fakeConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "initialize":
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`), nil
	case "tools/list":
		if c.answer == nil {
			return json.RawMessage(`{"tools":[{"name":"a"}]}`), nil
		}
	}
	if method == "ping" && !c.mute {
		return json.RawMessage(`{}`), nil
	}
	if c.answer == nil {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return c.answer(method, params)
}

func (c *fakeConn) Notify(context.Context, string, json.RawMessage) error { return nil }
func (c *fakeConn) Done() <-chan struct{}                                 { return c.done }
func (c *fakeConn) Err() error                                            { return c.err }
func (c *fakeConn) Close() error                                          { c.lose(transport.ErrClosed); return nil }

func (c *fakeConn) lose(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.done)
	})
}

// dialing returns connections by the server's name.
func dialing(dial func(name string) (transport.Conn, error)) func(transport.Dialer) transport.Dialer {
	return func(transport.Dialer) transport.Dialer {
		return func(_ context.Context, cfg transport.ServerConfig, _ transport.Notify) (transport.Conn, error) {
			return dial(cfg.Name)
		}
	}
}

// withAnswer overrides the answer of one method.
type withAnswer struct {
	transport.Conn
	method string
	result json.RawMessage
}

func (c withAnswer) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == c.method {
		return c.result, nil
	}
	return c.Conn.Request(ctx, method, params)
}

// fakeDialer returns connections or errors and records the times of its dialings.
type fakeDialer struct {
	mu     sync.Mutex
	dialed []time.Time
	notify transport.Notify
	last   *fakeConn
	next   func(attempt int) (*fakeConn, error)
}

func (d *fakeDialer) wrap(transport.Dialer) transport.Dialer {
	return func(_ context.Context, _ transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.dialed = append(d.dialed, time.Now())
		conn, err := d.next(len(d.dialed))
		if err != nil {
			return nil, err
		}
		conn.done = make(chan struct{})
		d.last, d.notify = conn, notify
		return conn, nil
	}
}

func (d *fakeDialer) conn() *fakeConn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *fakeDialer) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.dialed)
}

// manager starts a manager over the dialer inside a synctest bubble.
func (d *fakeDialer) manager(t *testing.T) *mcpclients.Manager {
	t.Helper()
	m, err := mcpclients.New(mcpclients.Config{
		Servers: []transport.ServerConfig{{Name: "s", Command: "x"}}, Wrap: d.wrap,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	synctest.Wait()
	return m
}

func TestSupervise_BacksOffAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crash := fmt.Errorf("%w: it fell over", transport.ErrLost)
		d := &fakeDialer{next: func(attempt int) (*fakeConn, error) {
			if attempt > 1 && attempt < 72 {
				return nil, crash
			}
			return &fakeConn{}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		d.conn().lose(crash)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateBackoff || !strings.Contains(st.Reason, "it fell over") || st.Tools != 0 {
			t.Errorf("after the crash: %+v", st)
		}
		if n := len(m.Catalogue().Tools()); n != 0 {
			t.Errorf("%d tools in the catalogue", n)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateReady || st.Reason != "" || st.Tools != 1 {
			t.Errorf("in the end: %+v", st)
		}
		var slow int
		for i, wait := range backoffs(d.dialed) {
			plain := time.Second
			switch {
			case i == 0:
				plain = 500 * time.Millisecond
			case d.dialed[i].Sub(d.dialed[1]) > time.Minute+time.Second:
				slow++
				plain = min(time.Minute, time.Second<<(slow+1))
			case d.dialed[i].Sub(d.dialed[1]) > time.Minute-time.Second:
				continue // the minute ends about here
			}
			if wait < plain*8/10 || wait > plain*12/10 {
				t.Errorf("wait %d was %s, want about %s", i+1, wait, plain)
			}
		}
		if slow < 5 {
			t.Errorf("only %d slow waits", slow)
		}
	})
}

func backoffs(times []time.Time) []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(times); i++ {
		waits = append(waits, times[i].Sub(times[i-1]))
	}
	return waits
}

func TestSupervise_ACallEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := fmt.Errorf("%w: it fell over", transport.ErrLost)
		up := false
		d := &fakeDialer{}
		d.next = func(attempt int) (*fakeConn, error) {
			if attempt > 1 && !up {
				return nil, down
			}
			return &fakeConn{answer: answerTools}, nil
		}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		d.conn().lose(down)
		time.Sleep(5 * time.Minute) // by now the waits are a minute long
		before := time.Now()
		if _, err := m.Call(t.Context(), "s", "a", nil); !errors.Is(err, transport.ErrUnavailable) || !strings.Contains(err.Error(), "it fell over") {
			t.Errorf("call while down: %v", err)
		}
		d.mu.Lock()
		up = true
		d.mu.Unlock()
		if result, err := m.Call(t.Context(), "s", "a", nil); err != nil || string(result.Output) != `"fine"` {
			t.Errorf("call when up: %s, %v", result.Output, err)
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("the calls waited %s", waited)
		}
	})
}

// A turn that names a server in backoff causes one attempt at once, and gets its outcome: the
// server with its tools if it is back, and no delay if it is not.
func TestManager_WaitEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := fmt.Errorf("%w: it fell over", transport.ErrLost)
		up := false
		d := &fakeDialer{}
		d.next = func(attempt int) (*fakeConn, error) {
			if attempt > 1 && !up {
				return nil, down
			}
			return &fakeConn{answer: answerTools}, nil
		}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		d.conn().lose(down)
		time.Sleep(5 * time.Minute)
		before := time.Now()
		for _, back := range []bool{false, true} {
			d.mu.Lock()
			up = back
			d.mu.Unlock()
			if err := m.Wait(t.Context(), []string{"s"}); err != nil {
				t.Error(err)
			}
			if tools := len(m.Catalogue().Tools()); (tools == 1) != back {
				t.Errorf("back %v: %d tools", back, tools)
			}
		}
		if waited := time.Since(before); waited != 0 {
			t.Errorf("waited %s", waited)
		}
	})
}

func answerTools(method string, _ json.RawMessage) (json.RawMessage, error) {
	if method == "tools/list" {
		return json.RawMessage(`{"tools":[{"name":"a"}]}`), nil
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"fine"}]}`), nil
}

// A command that never comes up is started at growing intervals, and a caller causes one start at
// once.
func TestSupervise_FailureAtTheFirstStartIsRepeatedEverMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(int) (*fakeConn, error) { return nil, errors.New("no good") }}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateFailed {
			t.Errorf("%+v", st)
		}
		for i, wait := range backoffs(d.dialed) {
			plain := min(time.Minute, 500*time.Millisecond<<min(i, 10))
			if i > 0 {
				plain = min(time.Minute, time.Second<<min(i, 10))
			}
			if wait < plain*8/10 || wait > plain*12/10 {
				t.Errorf("wait %d was %s, want about %s", i+1, wait, plain)
			}
		}
		if n := d.count(); n < 10 || n > 20 {
			t.Errorf("%d dialings in 10 minutes", n)
		}
		before := d.count()
		if err := m.Request(t.Context(), "s", "x", nil, nil); !errors.Is(err, transport.ErrUnavailable) || d.count() != before+1 {
			t.Errorf("%v after %d dialings", err, d.count())
		}
	})
}

func TestSupervise_ListChangedIsDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		broken := false
		d := &fakeDialer{next: func(int) (*fakeConn, error) {
			return &fakeConn{answer: func(method string, p json.RawMessage) (json.RawMessage, error) {
				lists++
				if broken {
					return json.RawMessage(`{"tools":7}`), nil
				}
				return answerTools(method, p)
			}}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		for range 50 {
			d.notify("notifications/tools/list_changed", nil)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if lists != 2 {
			t.Errorf("the list was read %d times, want 2", lists)
		}
		broken = true
		d.notify("notifications/tools/list_changed", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		st := status(t, m)
		if st.State != schemas.StateDegraded || !strings.Contains(st.Reason, "the old one is kept") || st.Tools != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestSupervise_SlowListIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		d := &fakeDialer{next: func(int) (*fakeConn, error) {
			return &fakeConn{answer: func(string, json.RawMessage) (json.RawMessage, error) {
				<-block
				return nil, context.DeadlineExceeded
			}}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		time.Sleep(mcpclients.DefaultListTimeout)
		close(block)
		synctest.Wait()
		if st := status(t, m); st.State != schemas.StateFailed || !strings.Contains(st.Reason, "tools/list was not answered within 15s") {
			t.Errorf("%+v", st)
		}
	})
}

func TestManager_WaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(int) (*fakeConn, error) {
			return &fakeConn{answer: func(string, json.RawMessage) (json.RawMessage, error) {
				time.Sleep(time.Minute)
				return nil, errors.New("late")
			}}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Wait(ctx, []string{"s"}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"s"`) {
			t.Errorf("got %v", err)
		}
		if err := m.Wait(ctx, []string{"t"}); !errors.Is(err, transport.ErrUnknownServer) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCall_RepeatsOnlyWhatHadNoEffect(t *testing.T) {
	for _, tc := range []struct {
		name  string
		err   error
		calls int
	}{
		{"never sent", transport.ErrUnavailable, 2},
		{"refused for its session", transport.ErrSession, 2},
		{"lost under way", transport.ErrLost, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				d := &fakeDialer{}
				d.next = func(attempt int) (*fakeConn, error) {
					conn := &fakeConn{}
					conn.answer = func(method string, p json.RawMessage) (json.RawMessage, error) {
						if method == "tools/call" {
							calls++
							if attempt == 1 {
								conn.lose(tc.err)
								return nil, tc.err
							}
						}
						return answerTools(method, p)
					}
					return conn, nil
				}
				m := d.manager(t)
				defer func() { _ = m.Close() }()
				result, err := m.Call(t.Context(), "s", "a", nil)
				if calls != tc.calls {
					t.Errorf("%d calls, want %d", calls, tc.calls)
				}
				if tc.calls == 2 && (err != nil || string(result.Output) != `"fine"`) {
					t.Errorf("%s, %v", result.Output, err)
				}
				if tc.calls == 1 && !errors.Is(err, tc.err) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

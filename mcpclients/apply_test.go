package mcpclients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// configs returns servers with these names and the same command.
func configs(names ...string) []transport.ServerConfig {
	var list []transport.ServerConfig
	for _, name := range names {
		list = append(list, transport.ServerConfig{Name: name, Command: "x"})
	}
	return list
}

// dialLog counts the dialings of each server. A server's tool answers with its first argument, or
// hangs until its context or its connection ends.
type dialLog struct {
	mu     sync.Mutex
	dialed map[string]int
	open   map[string]int
}

func (d *dialLog) wrap(transport.Dialer) transport.Dialer {
	return func(_ context.Context, cfg transport.ServerConfig, _ transport.Notify) (transport.Conn, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.dialed == nil {
			d.dialed, d.open = map[string]int{}, map[string]int{}
		}
		d.dialed[cfg.Name]++
		d.open[cfg.Name]++
		arg := "first"
		if len(cfg.Args) > 0 {
			arg = cfg.Args[0]
		}
		return &loggedConn{fakeConn: &fakeConn{done: make(chan struct{})}, arg: arg, closed: func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.open[cfg.Name]--
		}}, nil
	}
}

func (d *dialLog) counts() (dialed, open map[string]int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dialed, open = map[string]int{}, map[string]int{}
	for name, n := range d.dialed {
		dialed[name], open[name] = n, d.open[name]
	}
	return dialed, open
}

type loggedConn struct {
	*fakeConn
	arg    string
	closed func()
	once   sync.Once
}

func (c *loggedConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != "tools/call" {
		if method == "tools/list" {
			return json.RawMessage(`{"tools":[{"name":"a"},{"name":"wait"}]}`), nil
		}
		return c.fakeConn.Request(ctx, method, params)
	}
	var call struct {
		Name      string `json:"name"`
		Arguments struct {
			For time.Duration `json:"for"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(params, &call); err != nil {
		return nil, err
	}
	select {
	case <-time.After(call.Arguments.For):
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, c.arg), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.done:
		return nil, transport.ErrClosed
	}
}

func (c *loggedConn) Close() error {
	c.once.Do(c.closed)
	return c.fakeConn.Close()
}

func (d *dialLog) manager(t *testing.T, list []transport.ServerConfig) *mcpclients.Manager {
	t.Helper()
	m, err := mcpclients.New(mcpclients.Config{Servers: list, Wrap: d.wrap})
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	synctest.Wait()
	return m
}

func apply(t *testing.T, m *mcpclients.Manager, list []transport.ServerConfig) mcpclients.Changes {
	t.Helper()
	changes, err := m.Apply(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestApply_TouchesOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialLog{}
		list := configs("same", "gone", "other", "ruled", "off")
		m := d.manager(t, list)
		defer func() { _ = m.Close() }()
		next := configs("new", "ruled", "same", "other", "off")
		next[1].ExcludeTools = []string{"w*"}
		next[1].Rules = []transport.ToolRule{{Glob: "a", ToolRules: schemas.ToolRules{Policy: schemas.PolicyDeny}}}
		next[3].Args = []string{"second"}
		next[4].Disabled = true
		got := apply(t, m, next)
		want := mcpclients.Changes{Added: []string{"new"}, Removed: []string{"gone"}, Restarted: []string{"off", "other"}, Updated: []string{"ruled"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		synctest.Wait()
		dialed, open := d.counts()
		if diff := cmp.Diff(map[string]int{"same": 1, "gone": 1, "other": 2, "ruled": 1, "new": 1, "off": 1}, dialed); diff != "" {
			t.Errorf("dialed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"same": 1, "gone": 0, "other": 1, "ruled": 1, "new": 1, "off": 0}, open); diff != "" {
			t.Errorf("open (-want +got):\n%s", diff)
		}
		var offered []string
		for _, tool := range m.Catalogue().Tools() {
			offered = append(offered, tool.Name+" "+string(tool.Rules.Policy))
		}
		if diff := cmp.Diff([]string{
			"new__a auto", "new__wait auto", "other__a auto", "other__wait auto", "ruled__a deny", "same__a auto", "same__wait auto",
		}, offered); diff != "" {
			t.Errorf("catalogue (-want +got):\n%s", diff)
		}
		if _, err := m.Call(t.Context(), "gone", "a", nil); !errors.Is(err, transport.ErrUnknownServer) {
			t.Errorf("call of a removed server: %v", err)
		}
		if got := apply(t, m, next); !got.Empty() {
			t.Errorf("the same config again: %+v", got)
		}
	})
}

func TestApply_ABrokenConfigChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialLog{}
		m := d.manager(t, configs("a", "b"))
		defer func() { _ = m.Close() }()
		broken := configs("a", "c")
		broken[0].Timeout = time.Hour
		if changes, err := m.Apply(t.Context(), broken); err == nil || !changes.Empty() {
			t.Errorf("%+v, %v", changes, err)
		}
		if dialed, _ := d.counts(); !cmp.Equal(dialed, map[string]int{"a": 1, "b": 1}) || len(m.Status()) != 2 {
			t.Errorf("%v", dialed)
		}
	})
}

func TestApply_CallsUnderWayMayEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		long time.Duration
		took time.Duration
		want error
	}{
		{"in time", 3 * time.Second, 3 * time.Second, nil},
		{"not in time", time.Minute, 5 * time.Second, transport.ErrClosed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dialLog{}
				m := d.manager(t, configs("s"))
				defer func() { _ = m.Close() }()
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					_, err := m.Call(t.Context(), "s", "wait", fmt.Appendf(nil, `{"for":%d}`, tc.long))
					done <- err
				}()
				synctest.Wait()
				next := configs("s")
				next[0].Args = []string{"second"}
				apply(t, m, next)
				if took := time.Since(began); took != 0 {
					t.Errorf("apply took %s", took)
				}
				result, err := m.Call(t.Context(), "s", "a", nil) // waits for the new server
				if err != nil || string(result.Output) != `"second"` || time.Since(began) != tc.took {
					t.Errorf("%s, %v after %s", result.Output, err, time.Since(began))
				}
				if err := <-done; !errors.Is(err, tc.want) || (tc.want == nil && err != nil) {
					t.Errorf("the call under way: %v", err)
				}
			})
		})
	}
}

func TestApply_StartsAgainWhatGaveUp(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "not there yet")
	broken := transport.ServerConfig{Name: "s", Command: missing}
	m := start(t, servers(broken, bad("fine")))
	if st := m.Status()[1]; st.State != schemas.StateFailed {
		t.Fatalf("%+v", st)
	}
	if got := apply(t, m, []transport.ServerConfig{broken, bad("fine")}); !cmp.Equal(got.Restarted, []string{"s"}) {
		t.Errorf("%+v", got)
	}
	apply(t, m, []transport.ServerConfig{bad("s"), bad("fine")})
	waitFor(t, "the server is ready", func() bool { return m.Status()[1].State == schemas.StateReady })
}

func TestApply_UnderLoadNoCallFails(t *testing.T) {
	m := start(t, servers(bad("steady"), bad("busy")))
	ctx, stop := context.WithCancel(t.Context())
	var calls atomic.Int64
	var load sync.WaitGroup
	for i := range 4 {
		load.Go(func() {
			name := []string{"steady", "busy"}[i%2]
			for ctx.Err() == nil {
				if result, err := m.Call(t.Context(), name, "echo", json.RawMessage(`{"a":1}`)); err != nil || result.IsError {
					t.Errorf("%s: %s, %v", name, result.Output, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range 200 {
		broken := []transport.ServerConfig{bad("steady"), {Name: "busy"}}
		if _, err := m.Apply(t.Context(), broken); err == nil {
			t.Error("a broken config was taken")
		}
		if i%20 == 0 {
			next := bad("busy")
			next.Env = map[string]string{"ROUND": fmt.Sprint(i)}
			apply(t, m, []transport.ServerConfig{bad("steady"), next})
			if err := m.Wait(t.Context(), []string{"busy"}); err != nil {
				t.Error(err)
			}
		}
	}
	stop()
	load.Wait()
	t.Logf("%d calls beside 200 broken and 10 good configs", calls.Load())
}

func TestApply_InProcessAndClosed(t *testing.T) {
	h := &countingHandler{}
	m := start(t, servers(transport.ServerConfig{Name: "memory-server", InProcess: h}))
	if got := apply(t, m, []transport.ServerConfig{{Name: "memory-server", InProcess: h}}); !got.Empty() {
		t.Errorf("%+v", got)
	}
	if got := apply(t, m, []transport.ServerConfig{{Name: "memory-server", InProcess: &countingHandler{n: 1}}}); len(got.Restarted) != 1 {
		t.Errorf("%+v", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(t.Context(), nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

type countingHandler struct{ n int }

func (h *countingHandler) Handle(ctx context.Context, session string, msg json.RawMessage) json.RawMessage {
	return handler(func(context.Context, string, string, json.RawMessage) string { return `{}` }).Handle(ctx, session, msg)
}

// A reload may follow the repair of a server that waits for its next try.
func TestApply_TriesAFailedServerAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDialer{next: func(attempt int) (*fakeConn, error) {
			if attempt < 10 {
				return nil, errors.New("no good")
			}
			return &fakeConn{}, nil
		}}
		m := d.manager(t)
		defer func() { _ = m.Close() }()
		time.Sleep(3 * time.Minute) // by now the waits are a minute long
		for before := d.count(); before < 10; before++ {
			if _, err := m.Apply(t.Context(), []transport.ServerConfig{{Name: "s", Command: "x"}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if st := status(t, m); st.State != schemas.StateReady {
			t.Errorf("%s: %s", st.State, st.Reason)
		}
	})
}

package mcpclients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// newsManager attaches a server each of whose tools calls say with the tool's name.
func newsManager(t *testing.T, log *slog.Logger, say func(notify transport.Notify, tool string, token json.RawMessage)) *mcpclients.Manager {
	t.Helper()
	m, err := mcpclients.New(mcpclients.Config{
		Logger: log, Servers: []transport.ServerConfig{{Name: "s", Command: "x"}},
		Wrap: func(transport.Dialer) transport.Dialer {
			return func(_ context.Context, _ transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
				return &fakeConn{done: make(chan struct{}), answer: func(method string, params json.RawMessage) (json.RawMessage, error) {
					if method == "tools/list" {
						return json.RawMessage(`{"tools":[{"name":"a"},{"name":"b"}]}`), nil
					}
					var call struct {
						Name string `json:"name"`
						Meta struct {
							Token json.RawMessage `json:"progressToken"`
						} `json:"_meta"`
					}
					if err := json.Unmarshal(params, &call); err != nil {
						return nil, err
					}
					say(notify, call.Name, call.Meta.Token)
					return json.RawMessage(`{"content":[]}`), nil
				}}, nil
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	synctest.Wait()
	return m
}

// newsRecorder records a person's news.
type newsRecorder struct {
	mu    sync.Mutex
	heard []schemas.News
}

func (e *newsRecorder) person() *schemas.Person {
	return &schemas.Person{OnNews: func(n schemas.News) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.heard = append(e.heard, n)
	}}
}

// Progress that a server reports is sent to the person of the call, with the tool; a line of its
// log goes to the person if there is only one, and to the host's log.
func TestManager_News(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := newsManager(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), func(notify transport.Notify, tool string, token json.RawMessage) {
			for i := 1; i <= 3; i++ {
				notify("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":3,"message":"step %d of %s\u001b[2J"}`, token, i, i, tool)))
				time.Sleep(time.Second)
			}
			notify("notifications/message", json.RawMessage(`{"level":"warning","logger":"db","data":{"slow":true}}`))
			notify("notifications/message", json.RawMessage(`{"level":"info","data":"`+strings.Repeat("x", 5000)+`"}`))
			notify("notifications/message", json.RawMessage(`[]`))
			notify("notifications/progress", json.RawMessage(`{"progressToken":999,"progress":1}`))
		})
		defer func() { _ = m.Close() }()
		var lan newsRecorder
		if _, err := m.CallFor(t.Context(), lan.person(), "s", "a", nil); err != nil {
			t.Fatal(err)
		}
		if len(lan.heard) != 5 {
			t.Fatalf("heard %+v", lan.heard)
		}
		want := schemas.News{Server: "s", Tool: "a", Text: lan.heard[1].Text, Progress: 2, Total: 3}
		if diff := cmp.Diff(want, lan.heard[1]); diff != "" || !strings.HasPrefix(want.Text, "step 2 of a") || strings.Contains(want.Text, "\x1b") {
			t.Errorf("%q\n%s", want.Text, diff)
		}
		if diff := cmp.Diff(schemas.News{Server: "s", Level: "warning", Text: `db: {"slow":true}`}, lan.heard[3]); diff != "" {
			t.Error(diff)
		}
		if n := len(lan.heard[4].Text); n > 1100 {
			t.Errorf("a line of %d bytes", n)
		}
		if said := log.String(); !strings.Contains(said, "level=WARN") || !strings.Contains(said, `slow`) || !strings.Contains(said, "level=DEBUG msg=\"MCP server logs\"") {
			t.Error(said)
		}
	})
}

// Of a server that sends a thousand messages a second only a few are passed on, including the
// last one.
func TestManager_NewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newsManager(t, nil, func(notify transport.Notify, _ string, token json.RawMessage) {
			for i := 1; i <= 1000; i++ {
				notify("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":1000}`, token, i)))
				notify("notifications/message", json.RawMessage(`{"level":"info","data":"again"}`))
				time.Sleep(time.Millisecond)
			}
			notify("notifications/message", json.RawMessage(`{"level":"info","data":"last"}`))
		})
		defer func() { _ = m.Close() }()
		var lan newsRecorder
		if _, err := m.CallFor(t.Context(), lan.person(), "s", "a", nil); err != nil {
			t.Fatal(err)
		}
		signs, lines := 0, 0
		for _, n := range lan.heard {
			if n.Level == "" {
				signs++
			} else {
				lines++
			}
		}
		if signs < 3 || signs > 6 || lines < 20 || lines > 41 {
			t.Errorf("%d signs of progress, %d lines", signs, lines)
		}
		if last := lan.heard[len(lan.heard)-1]; !strings.Contains(last.Text, "980 lines before it were left out") {
			t.Errorf("%+v", last)
		}
	})
}

// While calls of two people are running, a line of the log goes to neither.
func TestManager_NewsReachNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newsManager(t, nil, func(notify transport.Notify, tool string, token json.RawMessage) {
			time.Sleep(time.Second)
			notify("notifications/message", json.RawMessage(`{"level":"info","data":"of `+tool+`"}`))
			notify("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progressToken":%s,"progress":1}`, token)))
			time.Sleep(time.Second)
		})
		defer func() { _ = m.Close() }()
		var lan, minh newsRecorder
		var calls sync.WaitGroup
		for tool, who := range map[string]*newsRecorder{"a": &lan, "b": &minh} {
			calls.Go(func() {
				if _, err := m.CallFor(t.Context(), who.person(), "s", tool, nil); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		for tool, who := range map[string]*newsRecorder{"a": &lan, "b": &minh} {
			if len(who.heard) != 1 || who.heard[0].Tool != tool {
				t.Errorf("%s: %+v", tool, who.heard)
			}
		}
	})
}

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

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// prompting answers like a server with prompts; listed counts the requests for the list.
type prompting struct {
	tells  bool
	listed atomic.Int32
	pages  []string // answers to prompts/list, by page
	get    func(params string) (json.RawMessage, error)
}

func (p *prompting) manager(t *testing.T) (*mcpclients.Manager, *promptConn) {
	t.Helper()
	conn := &promptConn{fakeConn: fakeConn{done: make(chan struct{})}, p: p}
	cfg := servers(transport.ServerConfig{Name: "sdi", URL: "http://127.0.0.1:1/mcp", Protocol: transport.ProtocolHandshake})
	cfg.Wrap = func(transport.Dialer) transport.Dialer {
		return func(_ context.Context, _ transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
			conn.notify = notify
			return conn, nil
		}
	}
	return start(t, cfg), conn
}

type promptConn struct {
	fakeConn
	p      *prompting
	notify transport.Notify
}

func (c *promptConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "initialize":
		return json.RawMessage(fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{"listChanged":%v}}}`, c.p.tells)), nil
	case "tools/list":
		return json.RawMessage(`{"tools":[]}`), nil
	case "prompts/list":
		n := int(c.p.listed.Add(1)) - 1
		if n >= len(c.p.pages) {
			return json.RawMessage(`{"prompts":[]}`), nil
		}
		return json.RawMessage(c.p.pages[n]), nil
	case "prompts/get":
		return c.p.get(string(params))
	}
	return c.fakeConn.Request(ctx, method, params)
}

func TestManager_Prompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &prompting{tells: true, pages: []string{
			`{"prompts":[{"name":"tag","arguments":[{"name":"topic"}]},{"name":"bad name"},{"name":""},7],"nextCursor":"2"}`,
			`{"prompts":[{"name":"record","description":"One record\u202e","arguments":[{"name":"uuid","required":true}]},{"name":"tag"}]}`,
			`{"prompts":[{"name":"new"}]}`,
		}}
		m, conn := p.manager(t)
		want := []schemas.Prompt{
			{Server: "sdi", Name: "record", Description: "One record", Arguments: []schemas.PromptArgument{{Name: "uuid", Required: true}}},
			{Server: "sdi", Name: "tag", Arguments: []schemas.PromptArgument{{Name: "topic"}}},
		}
		for range 3 { // the list is read once
			if diff := cmp.Diff(want, m.Prompts(t.Context(), schemas.Caller{})); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
			time.Sleep(time.Hour)
		}
		conn.notify("notifications/prompts/list_changed", nil)
		if got := m.Prompts(t.Context(), schemas.Caller{}); len(got) != 1 || got[0].Name != "new" || p.listed.Load() != 3 {
			t.Errorf("after the change %v, listed %d times", got, p.listed.Load())
		}
	})
}

// The list of a server that sends no change notifications is read again after a while.
func TestManager_Prompts_ofASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &prompting{pages: []string{`{"prompts":[{"name":"one"}]}`, `{"prompts":[{"name":"two"}]}`}}
		m, _ := p.manager(t)
		for _, want := range []string{"one", "one", "two"} {
			if got := m.Prompts(t.Context(), schemas.Caller{}); len(got) != 1 || got[0].Name != want {
				t.Fatalf("got %v, want %s", got, want)
			}
			time.Sleep(40 * time.Second)
		}
	})
}

func TestManager_Prompt(t *testing.T) {
	var asked string
	p := &prompting{get: func(params string) (json.RawMessage, error) {
		asked = params
		if strings.Contains(params, "missing") {
			return nil, &transport.RPCError{Code: -32602, Message: "uuid is required"}
		}
		return json.RawMessage(`{"messages":[
			{"role":"system","content":{"type":"text","text":"Show it."}},
			{"role":"assistant","content":{"type":"text","text":"An example."}},
			{"role":"user","content":{"type":"resource","resource":{"uri":"sdi://1","text":"the record"}}},
			{"role":"user","content":{"type":"text","text":""}}]}`), nil
	}}
	m, _ := p.manager(t)
	got, err := m.Prompt(t.Context(), schemas.Caller{}, "ann", "sdi", "record", map[string]string{"uuid": "u"})
	if err != nil || asked != `{"arguments":{"uuid":"u"},"name":"record"}` {
		t.Fatalf("asked %s: %v", asked, err)
	}
	var texts []string
	for _, msg := range got {
		texts = append(texts, string(msg.Role)+": "+msg.Said())
	}
	if len(got) != 3 || texts[0] != "user: Show it." || texts[1] != "assistant: An example." || !strings.Contains(texts[2], "the record") {
		t.Errorf("got %q", texts)
	}
	_, err = m.Prompt(t.Context(), schemas.Caller{}, "ann", "sdi", "missing", nil)
	if refused, ok := errors.AsType[*transport.RPCError](err); !ok || refused.Code != -32602 {
		t.Errorf("error %v", err)
	}
	if _, err := m.Prompt(t.Context(), schemas.Caller{}, "", "nobody", "x", nil); !errors.Is(err, transport.ErrUnknownServer) {
		t.Errorf("error %v", err)
	}
}

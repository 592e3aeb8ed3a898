package tape

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"molar/eval/match"
	"molar/mcpclients/transport"
	"molar/toolhandler"
)

// playedConn is a connection that is answered from the tape.
type playedConn struct {
	p      *Player
	server string
	once   sync.Once
	done   chan struct{}
}

func (c *playedConn) Done() <-chan struct{} { return c.done }
func (c *playedConn) Err() error            { return transport.ErrClosed }

func (c *playedConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// Notify drops the notification, since it has no answer.
func (c *playedConn) Notify(context.Context, string, json.RawMessage) error { return nil }

// Request answers from the tape.
func (c *playedConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if method == "ping" {
		return json.RawMessage(`{}`), nil
	}
	if method == MethodCall {
		if result, hit, err := c.p.toolFault(c.server, params); hit {
			return result, err
		}
	}
	f := c.p.findFrame(ctx, c.server, method, params)
	if f == nil {
		return c.missing(ctx, method, params)
	}
	if was, now := place(f.request.Turn, f.request.Slot), place(turnOf(ctx), toolhandler.Slot(ctx)); method == MethodCall && was != now && c.p.isStrict() {
		c.p.drift(turnOf(ctx), f.request.Line, Drift{Class: CallOrder, Where: "call on server " + c.server, Want: was, Got: now})
	}
	return f.result(c.server)
}

// place describes where a call was made.
func place(turn, slot int) string { return fmt.Sprintf("call %d of its round in turn %d", slot, turn) }

// result returns the answer on the tape.
func (f *frames) result(server string) (json.RawMessage, error) {
	switch {
	case f.answer == nil:
		return nil, fmt.Errorf("line %d of the tape: a record is missing: the recording broke off", f.request.Line)
	case f.answer.Error != "":
		return nil, fmt.Errorf("%w: %s", transport.ErrLost, f.answer.Error)
	case f.said.Error != nil:
		return nil, &transport.RPCError{Server: server, Method: f.asked.Method, Code: f.said.Error.Code, Message: f.said.Error.Message, Data: f.said.Error.Data}
	}
	return f.said.Result, nil
}

// missing answers a request that is not on the tape: a call with a fixed tool error, other
// methods with a protocol error.
func (c *playedConn) missing(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == MethodInitialize && !c.p.withoutHandshake(c.server) { // a new server, or a tape made by hand: there are no tools
		if taped := c.p.frames[c.server]; len(taped) > 0 && c.p.isStrict() {
			c.p.drift(turnOf(ctx), taped[0].request.Line, Drift{Class: Result, Where: "initialize of server " + c.server, Want: "(the tape has lost its line)", Got: "asked for"})
		}
		return json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"replay","version":"1"}}`), nil
	}
	if method == MethodList {
		return json.RawMessage(`{"tools":[]}`), nil
	}
	if method != MethodCall {
		return nil, &transport.RPCError{Server: c.server, Method: method, Code: -32601, Message: "replay: the tape has no such request"}
	}
	_ = c.p.recordMiss("turn %d: the tape has no such call on server %s: %s", turnOf(ctx), c.server, clip(canonicalParams(params)))
	c.p.mu.Lock()
	line := c.p.line + 1
	c.p.mu.Unlock()
	d := Drift{Class: CallExtra, Where: "call on server " + c.server, Want: "(nothing)", Got: clip(canonicalParams(params))}
	if near := c.p.nearest(ctx, c.server, params); near != "" {
		d.Class, d.Want = CallArgs, clip(near)
	}
	if !c.p.cfg.LiveModel && !c.p.hasLeft() {
		c.p.drift(turnOf(ctx), line, d)
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"replay: the tape has no such call"}],"isError":true}`), nil
}

// withoutHandshake reports whether the server answered on the tape what only one without a handshake
// is asked.
func (p *Player) withoutHandshake(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.frames[server], func(f *frames) bool {
		if f.asked.Method != MethodDiscover {
			return false
		}
		result, err := f.result(server)
		return err == nil && len(result) > 0
	})
}

// findFrame takes the next unused request with the same method and params. Equal parallel calls
// are distinguished by their slot. Methods other than calls may repeat.
func (p *Player) findFrame(ctx context.Context, server, method string, params json.RawMessage) *frames {
	key := canonicalParams(json.RawMessage(p.cfg.Redactor.Text(string(params))))
	p.mu.Lock()
	defer p.mu.Unlock()
	var first, last, exact *frames
	for _, f := range p.frames[server] {
		switch {
		case f.asked.Method != method || f.key != key || method == MethodCall && !f.within(turnOf(ctx)):
			continue
		case !p.used[f.request] && first == nil:
			first = f
		}
		if !p.used[f.request] && exact == nil && f.request.Slot == toolhandler.Slot(ctx) {
			exact = f
		}
		last = f
	}
	if exact != nil {
		first = exact
	}
	if first != nil {
		p.used[first.request] = true
		if first.answer != nil {
			p.line = max(p.line, first.answer.Line)
		}
		return first
	}
	if method == MethodCall {
		return nil
	}
	return last
}

// within reports whether the call may belong to the turn; 0 is any turn.
func (f *frames) within(turn int) bool {
	return f.request.Turn == turn || f.request.Turn == 0 || turn == 0
}

// nearest returns the params of the unused call of the same tool that is most similar: first in
// its arguments, then in its slot.
func (p *Player) nearest(ctx context.Context, server string, params json.RawMessage) string {
	made := paramsOf(params)
	best, found := -1, ""
	p.mu.Lock()
	unused := slices.DeleteFunc(slices.Clone(p.frames[server]), func(f *frames) bool {
		return p.used[f.request] || f.asked.Method != MethodCall || !f.within(turnOf(ctx))
	})
	p.mu.Unlock()
	for _, f := range unused {
		taped := paramsOf(f.asked.Params)
		if taped.Name != made.Name {
			continue
		}
		same := 2 * taped.shared(made)
		if f.request.Slot == toolhandler.Slot(ctx) {
			same++
		}
		if same > best {
			best, found = same, canonicalParams(f.asked.Params)
		}
	}
	return found
}

type callParams struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

func paramsOf(raw json.RawMessage) callParams {
	var c callParams
	v, err := match.Decode(raw)
	if object, ok := v.(map[string]any); err == nil && ok {
		c.Name, _ = object["name"].(string)
		c.Arguments, _ = object["arguments"].(map[string]any)
	}
	return c
}

// shared counts the equal arguments.
func (c callParams) shared(other callParams) int {
	n := 0
	for key, value := range c.Arguments {
		if match.Equal(value, other.Arguments[key]) {
			n++
		}
	}
	return n
}

// liveConn is a real connection whose results are compared with the tape.
type liveConn struct {
	transport.Conn
	played *playedConn
}

// Inner is the connection below.
func (c *liveConn) Inner() transport.Conn { return c.Conn }

func (c *liveConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == MethodCall {
		if result, hit, err := c.played.p.toolFault(c.played.server, params); hit {
			return result, err
		}
	}
	if method == MethodCall && c.played.p.hasFallback() {
		if f := c.played.p.findFrame(ctx, c.played.server, method, params); f != nil {
			return f.result(c.played.server)
		}
	}
	result, err := c.Conn.Request(ctx, method, params)
	p := c.played.p
	if method == MethodList && err == nil {
		p.addListed(c.played.server, result)
	}
	if method != MethodCall {
		return result, err
	}
	f := p.findFrame(ctx, c.played.server, method, params)
	if f == nil {
		return result, err
	}
	want, got := comparableText(f.result(c.played.server)), comparableText(result, err)
	if want != got {
		p.drift(turnOf(ctx), f.request.Line, differing(Result, "call on server "+c.played.server, want, got))
	}
	return result, err
}

// comparableText returns a result in the form in which two are compared.
func comparableText(result json.RawMessage, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	v, decodeErr := match.Decode(result)
	if object, ok := v.(map[string]any); decodeErr == nil && ok {
		delete(object, "_meta")
		return match.Canonical(object)
	}
	return string(result)
}

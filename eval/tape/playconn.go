package tape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"molar/eval/match"
	"molar/mcpclients"
	"molar/toolhandler"
)

// The MCP methods that matter here.
const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// playedConn is a connection whose server is the tape.
type playedConn struct {
	p      *Player
	server string
	once   sync.Once
	done   chan struct{}
}

func (c *playedConn) Done() <-chan struct{} { return c.done }
func (c *playedConn) Err() error            { return mcpclients.ErrClosed }

func (c *playedConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// Notify drops what has no answer.
func (c *playedConn) Notify(context.Context, string, json.RawMessage) error { return nil }

// Request answers with what the tape has.
func (c *playedConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if method == "ping" {
		return json.RawMessage(`{}`), nil
	}
	if method == methodCall {
		if result, fired, err := c.p.toolFault(ctx, c.server, params); fired {
			return result, err
		}
	}
	f := c.p.findFrame(ctx, c.server, method, params)
	if f == nil {
		return c.missing(ctx, method, params)
	}
	rec, err := c.p.x.load(f.answer)
	if err != nil {
		return nil, err
	}
	if rec.Sha != "" && rec.Sha != frameSha(rec.Frame) {
		c.p.drift(turnOf(ctx), f.answer.line, Drift{
			Class: DriftResult, Where: "call on server " + c.server, Want: "the result with hash " + rec.Sha, Got: "a changed one, hash " + frameSha(rec.Frame),
		})
	}
	return answerOf(rec, c.server, method)
}

// answerOf is the answer that a frame holds.
func answerOf(rec Record, server, method string) (json.RawMessage, error) {
	if rec.Error != "" {
		return nil, fmt.Errorf("%w: %s", mcpclients.ErrLost, rec.Error)
	}
	var f frame
	if err := json.Unmarshal(rec.Frame, &f); err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	if f.Error != nil {
		return nil, &mcpclients.RPCError{Server: server, Method: method, Code: f.Error.Code, Message: f.Error.Message, Data: f.Error.Data}
	}
	return f.Result, nil
}

// missing answers what the tape has not: a call with a fixed tool error, all else with
// a refusal.
func (c *playedConn) missing(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "initialize" { // the server is new, or the tape was made by hand: it has no tools
		return json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"replay","version":"1"}}`), nil
	}
	if method == methodList {
		return json.RawMessage(`{"tools":[]}`), nil
	}
	if method != methodCall {
		return nil, &mcpclients.RPCError{Server: c.server, Method: method, Code: -32601, Message: "replay: the tape has no such request"}
	}
	c.p.mu.Lock()
	line := c.p.line + 1
	c.p.mu.Unlock()
	d := Drift{Class: DriftCallExtra, Where: "call on server " + c.server, Want: "(nothing)", Got: clip(canonicalParams(params))}
	if near := c.p.nearest(turnOf(ctx), c.server, params); near != "" {
		d.Class, d.Want = DriftCallArgs, clip(near)
	}
	if !c.p.cfg.LiveModel {
		c.p.drift(turnOf(ctx), line, d)
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"replay: the tape has no such call"}],"isError":true}`), nil
}

// findFrame takes the next unused request with the same method and params. Calls that
// are alike and run side by side are told apart by their place in the round; other
// methods than calls may repeat.
func (p *Player) findFrame(ctx context.Context, server, method string, params json.RawMessage) *tapedFrame {
	key := sha(canonicalParams(json.RawMessage(p.redact.Text(string(params)))))
	p.mu.Lock()
	defer p.mu.Unlock()
	var first, last, exact *tapedFrame
	for _, f := range p.x.frames[server] {
		switch {
		case f.method != method || f.key != key || method == methodCall && !f.within(turnOf(ctx)):
			continue
		case !f.used && first == nil:
			first = f
		}
		if !f.used && exact == nil && f.slot == toolhandler.Slot(ctx) {
			exact = f
		}
		last = f
	}
	if exact != nil {
		first = exact
	}
	if first != nil {
		first.used = true
		p.line = max(p.line, first.answer.line)
		return first
	}
	if method == methodCall {
		return nil
	}
	return last
}

// within reports whether the call may be of the turn; 0 is any.
func (f *tapedFrame) within(turn int) bool { return f.turn == turn || f.turn == 0 || turn == 0 }

// nearest shows the params of the unused call of the same tool that comes closest.
func (p *Player) nearest(turn int, server string, params json.RawMessage) string {
	made := paramsOf(params)
	best, found := -1, ""
	p.mu.Lock()
	frames := p.x.frames[server]
	p.mu.Unlock()
	for _, f := range frames {
		if f.used || f.method != methodCall || !f.within(turn) {
			continue
		}
		rec, err := p.x.load(f.request)
		if err != nil {
			continue
		}
		var message frame
		if json.Unmarshal(rec.Frame, &message) != nil {
			continue
		}
		taped := paramsOf(message.Params)
		if taped.Name != made.Name {
			continue
		}
		if same := taped.shared(made); same > best {
			best, found = same, canonicalParams(message.Params)
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

// shared counts the arguments that both have.
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
	mcpclients.Conn
	played *playedConn
}

// Inner is the connection below.
func (c *liveConn) Inner() mcpclients.Conn { return c.Conn }

func (c *liveConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	result, err := c.Conn.Request(ctx, method, params)
	if method != methodCall {
		return result, err
	}
	p := c.played.p
	f := p.findFrame(ctx, c.played.server, method, params)
	if f == nil {
		return result, err
	}
	rec, loadErr := p.x.load(f.answer)
	if loadErr != nil {
		return result, errors.Join(err, loadErr)
	}
	taped, tapedErr := answerOf(rec, c.played.server, method)
	want, got := shown(taped, tapedErr), shown(result, err)
	if want != got {
		a, b := window(want, got)
		p.drift(turnOf(ctx), f.answer.line, Drift{Class: DriftResult, Where: "call on server " + c.played.server, Want: a, Got: b})
	}
	return result, err
}

// shown is a result in the form in which two are compared.
func shown(result json.RawMessage, err error) string {
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

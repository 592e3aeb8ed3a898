package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"molar/eval/tape"
	"molar/internal/config"
	"molar/internal/terminal"
	"molar/mcpclients/transport"
)

// A Wire prints the messages between the host and its MCP servers.
type Wire struct {
	mu     sync.Mutex
	Trace  io.Writer
	Redact *tape.Redactor
	next   atomic.Int64
}

// Dial observes every connection.
func (w *Wire) Dial(inner transport.Dialer) transport.Dialer {
	return func(ctx context.Context, cfg transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
		conn, err := inner(ctx, cfg, func(method string, params json.RawMessage) {
			w.line(cfg.Name, "<-", frame{Method: method, Params: params})
			notify(method, params)
		})
		if err != nil {
			return nil, err
		}
		return &tracedConn{Conn: conn, w: w, server: cfg.Name}, nil
	}
}

// A frame is a JSON-RPC message as it is printed.
type frame struct {
	ID     int64           `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *frameError     `json:"error,omitempty"`
}

type frameError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// line prints one message: server, direction, JSON.
func (w *Wire) line(server, direction string, f frame) {
	data, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		frame
	}{"2.0", f})
	if err != nil { // a server's answer that is not JSON never gets here
		data = []byte(err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Fprintf(w.Trace, "%s %s %s\n", terminal.Clean(server), direction, terminal.Clean(w.Redact.Text(string(data))))
}

// A tracedConn prints the host's requests and their answers. The printed ids are its own.
type tracedConn struct {
	transport.Conn
	w      *Wire
	server string
}

// Inner returns the connection itself.
func (c *tracedConn) Inner() transport.Conn { return c.Conn }

func (c *tracedConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id := c.w.next.Add(1)
	c.w.line(c.server, "->", frame{ID: id, Method: method, Params: params})
	began := time.Now()
	result, err := c.Conn.Request(ctx, method, params)
	answer := frame{ID: id, Result: result}
	if err != nil {
		answer.Result, answer.Error = nil, &frameError{Message: err.Error()}
		if refused, ok := errors.AsType[*transport.RPCError](err); ok {
			answer.Error = &frameError{refused.Code, refused.Message, refused.Data}
		}
	}
	c.w.line(c.server, fmt.Sprintf("<- %s", time.Since(began).Round(10*time.Microsecond)), answer)
	return result, err
}

func (c *tracedConn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	c.w.line(c.server, "->", frame{Method: method, Params: params})
	return c.Conn.Notify(ctx, method, params)
}

// Redactor returns a redactor for the secrets of configs.
func Redactor(all ...*config.Config) *tape.Redactor {
	var secrets []string
	for _, cfg := range all {
		for _, name := range cfg.LLM.EndpointNames() {
			secrets = append(secrets, cfg.LLM.Keys[name].Reveal(), cfg.LLM.Key(name).Reveal())
		}
		for _, s := range cfg.MCPServers {
			for _, v := range s.Value.Headers {
				secrets = append(secrets, v.Reveal(), strings.TrimPrefix(v.Reveal(), "Bearer "))
			}
			for _, v := range s.Value.Env {
				secrets = append(secrets, v.Reveal())
			}
		}
	}
	return tape.NewRedactor(secrets...)
}

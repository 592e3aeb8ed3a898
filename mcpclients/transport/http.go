package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// httpConn is a connection to a streamable HTTP server, over mcp-go's transport.
type httpConn struct {
	wire *transport.StreamableHTTP
	// stateless is set for a server without a handshake; then headerSchemas holds the input schemas of
	// the tools whose arguments are repeated in headers.
	stateless     bool
	headerSchemas atomic.Pointer[map[string]json.RawMessage]

	lastID atomic.Int64
	stop   context.CancelFunc
	life
}

// dialHTTP prepares the connection; nothing is sent before the first request.
func dialHTTP(cfg *ServerConfig, host Host, client *http.Client, notify Notify) (*httpConn, error) {
	options := []transport.StreamableHTTPCOption{
		transport.WithHTTPBasicClient(guardedClient(withLogin(client, cfg, host.Login), cfg.Headers, true)),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
	}
	withoutHandshake := cfg.Protocol == ProtocolStateless
	if !withoutHandshake {
		options = append(options, transport.WithContinuousListening()) //nolint:staticcheck // revisions with a handshake need the GET stream
	}
	wire, err := transport.NewStreamableHTTP(cfg.URL, options...)
	if err != nil {
		return nil, Permanent("the url cannot be used: correct mcpServers.%s.url", cfg.Name)
	}
	wire.SetNotificationHandler(func(n mcp.JSONRPCNotification) {
		params, err := json.Marshal(n.Params)
		if err == nil {
			notify(n.Method, params)
		}
	})
	wire.SetRequestHandler(answerHTTP(host.Answer))
	// The listening stream outlives the dialing.
	ctx, stop := context.WithCancel(context.Background())
	if err := wire.Start(ctx); err != nil {
		stop()
		return nil, err
	}
	if withoutHandshake {
		wire.SetProtocolVersion(ProtocolStateless)
	}
	return &httpConn{wire: wire, stateless: withoutHandshake, stop: stop, life: newLife()}, nil
}

// personTimeout is how long a server's question waits for a person: the answer must be sent
// within 30 s.
const personTimeout = 25 * time.Second

// answerHTTP returns the handler of a server's requests.
func answerHTTP(answer Answerer) transport.RequestHandler {
	return func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, personTimeout)
		defer cancel()
		params, err := json.Marshal(r.Params)
		if err != nil {
			return nil, err
		}
		result, refused := answer(ctx, r.Method, params)
		if refused != nil {
			return transport.NewJSONRPCErrorResponse(r.ID, refused.Code, refused.Message, nil), nil
		}
		return transport.NewJSONRPCResultResponse(r.ID, result), nil
	}
}

// SetProtocolVersion sets the agreed revision for every later request.
func (c *httpConn) SetProtocolVersion(version string) { c.wire.SetProtocolVersion(version) }

func (c *httpConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := c.Err(); err != nil {
		return nil, notSent(err)
	}
	id := c.lastID.Add(1)
	result, err := c.roundTrip(ctx, id, method, params)
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		// A stateless server notices the end of the exchange, and expects no notification.
		if method != MethodInitialize && !c.stateless {
			c.sendCancelled(id, c.Notify)
		}
		return nil, context.Cause(ctx)
	}
	if _, answered := errors.AsType[*RPCError](err); answered {
		return nil, err
	}
	if lost := c.Err(); errors.Is(lost, ErrLost) && errors.Is(err, context.Canceled) {
		return nil, lost // cancelled because the connection was lost
	}
	return nil, c.classify(method, err)
}

func (c *httpConn) roundTrip(ctx context.Context, id int64, method string, params json.RawMessage) (json.RawMessage, error) {
	request := transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(id), Method: method}
	if len(params) > 0 {
		request.Params = params
	}
	if c.stateless {
		request.Header = c.requestHeaders(method, params)
	}
	answer, err := c.wire.SendRequest(ctx, request)
	if err != nil {
		return nil, err
	}
	m := rpcMessage{Result: answer.Result}
	if m.ID, err = json.Marshal(answer.ID); err == nil && answer.Error != nil {
		m.Error, err = json.Marshal(answer.Error)
	}
	if err != nil {
		return nil, err
	}
	return m.answerTo(id, method)
}

// classify maps a failed exchange to an error of the package and decides what it means for the
// connection.
func (c *httpConn) classify(method string, err error) error {
	if status, answered := errors.AsType[*StatusError](err); answered && method == MethodInitialize && status.legacy() {
		return &LegacyError{status}
	}
	err, uncertain := c.life.classify(method, err)
	if uncertain && method != MethodPing && method != MethodInitialize && method != MethodDiscover {
		c.probe(err, func(ctx context.Context) error {
			_, err := c.Request(ctx, MethodPing, nil)
			return err
		})
	}
	return err
}

// A LegacyError is a server's refusal of initialize that may mean that it speaks the older HTTP
// and SSE transport at the same address.
type LegacyError struct{ Status *StatusError }

func (e *LegacyError) Error() string {
	if e.Understood() {
		return e.Status.Error()
	}
	return e.Status.Error() + ": it does not speak streamable HTTP there"
}

// Understood reports whether the server refused what the message says, not the message.
func (e *LegacyError) Understood() bool {
	return e.Status.RPC != nil || e.Status.Code == http.StatusBadRequest
}

func (e *LegacyError) Unwrap() error { return e.Status }

func (c *httpConn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	n := mcp.JSONRPCNotification{JSONRPC: "2.0", Notification: mcp.Notification{Method: method}}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &n.Params); err != nil {
			return fmt.Errorf("params of %s: %w", method, err)
		}
	}
	return c.wire.SendNotification(ctx, n)
}

// Close ends the session and waits for background work.
func (c *httpConn) Close() error {
	c.markClosed()
	err := c.wire.Close()
	c.stop()
	c.work.Wait()
	return err
}

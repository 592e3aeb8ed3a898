package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// noticeTimeout bounds a cancellation notice, probeTimeout the ping that decides
	// whether a server that failed one request is lost.
	noticeTimeout = 2 * time.Second
	probeTimeout  = 3 * time.Second
)

// httpConn is a connection to a streamable HTTP server, over mcp-go's transport.
type httpConn struct {
	wire   *transport.StreamableHTTP
	lastID atomic.Int64
	stop   context.CancelFunc

	mu      sync.Mutex // guards the fields below and the wait group's growth
	err     error
	probing bool
	closed  bool
	done    chan struct{}
	work    sync.WaitGroup
}

// dialHTTP prepares the connection; nothing is sent before the first request.
func dialHTTP(cfg *ServerConfig, client *http.Client, notify Notify) (*httpConn, error) {
	wire, err := transport.NewStreamableHTTP(cfg.URL,
		transport.WithHTTPBasicClient(guardedClient(client, cfg.Headers)),
		transport.WithHTTPHeaders(cfg.Headers),
		transport.WithContinuousListening(), //nolint:staticcheck // the pinned revision needs the GET stream
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		return nil, permanent("the url cannot be used: correct mcpServers.%s.url", cfg.Name)
	}
	wire.SetNotificationHandler(func(n mcp.JSONRPCNotification) {
		params, err := json.Marshal(n.Params)
		if err == nil {
			notify(n.Method, params)
		}
	})
	wire.SetRequestHandler(answerHTTP)
	// The listening stream lives as long as the connection, not as the dialing.
	ctx, stop := context.WithCancel(context.Background())
	if err := wire.Start(ctx); err != nil {
		stop()
		return nil, err
	}
	return &httpConn{wire: wire, stop: stop, done: make(chan struct{})}, nil
}

// answerHTTP answers the requests of a server: see [answerServer].
func answerHTTP(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if r.Method == "ping" {
		return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(`{}`)), nil
	}
	return transport.NewJSONRPCErrorResponse(r.ID, codeMethodNotFound, "the client does not serve this method", nil), nil
}

// SetProtocolVersion makes the agreed revision part of every later request.
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
		if method != methodInitialize {
			c.sendCancelled(id)
		}
		return nil, context.Cause(ctx)
	}
	if _, answered := errors.AsType[*RPCError](err); answered {
		return nil, err
	}
	return nil, c.classify(method, err)
}

func (c *httpConn) roundTrip(ctx context.Context, id int64, method string, params json.RawMessage) (json.RawMessage, error) {
	request := transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(id), Method: method}
	if len(params) > 0 {
		request.Params = params
	}
	answer, err := c.wire.SendRequest(ctx, request)
	if err != nil {
		return nil, err
	}
	if echoed, err := json.Marshal(answer.ID); err == nil && !isNull(echoed) {
		if got, ok := parseID(echoed); !ok || got != id {
			return nil, &RPCError{Method: method, Code: codeInternal, Message: "the server answered another request"}
		}
	}
	if answer.Error == nil {
		m := message{Result: answer.Result}
		r := m.reply(method)
		return r.result, r.err
	}
	data, err := json.Marshal(answer.Error.Data)
	if err != nil || answer.Error.Data == nil {
		data = nil
	}
	return nil, &RPCError{Method: method, Code: answer.Error.Code, Message: answer.Error.Message, Data: data}
}

// classify turns a failed exchange into one of the package's kinds and decides
// what it means for the connection.
func (c *httpConn) classify(method string, err error) error {
	status, answered := errors.AsType[*statusError](err)
	switch {
	case errors.Is(err, transport.ErrSessionTerminated), answered && status.sessionLost():
		err = fmt.Errorf("%w: %w", ErrSession, trimmed(err))
		c.lose(err)
		return err
	case answered && (status.code == http.StatusUnauthorized || status.code == http.StatusForbidden):
		return permanent("the server refused the credentials (HTTP %d): set the headers it needs", status.code)
	case answered && method == methodInitialize && status.code >= 400 && status.code < 500:
		return permanent("%w: check the url, the server does not speak streamable HTTP there", status)
	case answered && status.rpc != nil:
		e := *status.rpc
		e.Method = method
		return &e
	case answered && status.code < 500:
		return status
	}
	kind := ErrLost
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		kind = ErrUnavailable // nothing was sent
	}
	err = fmt.Errorf("%w: %w", kind, trimmed(err))
	if method != methodPing {
		c.probe(err)
	}
	return err
}

// trimmed drops the layers of an error that repeat one another, or show the address
// with what may be secret in it.
func trimmed(err error) error {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	text := strings.ReplaceAll(err.Error(), "failed to send request: ", "")
	text = strings.ReplaceAll(text, "failed to ", "cannot ")
	if text == "unexpected nil response" {
		text = "the answer's stream broke off"
	}
	return errors.New(text)
}

// probe asks in the background whether the server still answers after a request
// failed with err, and gives the connection up if it does not. One broken exchange
// must not end the others.
func (c *httpConn) probe(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.probing || c.err != nil {
		return
	}
	c.probing = true
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()
		_, pingErr := c.Request(ctx, methodPing, nil)
		_, answered := errors.AsType[*RPCError](pingErr)
		c.mu.Lock()
		c.probing = false
		c.mu.Unlock()
		if pingErr != nil && !answered {
			c.lose(err)
		}
	})
}

func (c *httpConn) sendCancelled(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
		defer cancel()
		_ = c.Notify(ctx, methodCancelled, cancelParams(id, "the caller no longer waits"))
	})
}

func (c *httpConn) Notify(ctx context.Context, method string, params json.RawMessage) error {
	n := mcp.JSONRPCNotification{JSONRPC: "2.0", Notification: mcp.Notification{Method: method}}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &n.Params); err != nil {
			return fmt.Errorf("params of %s: %w", method, err)
		}
	}
	return c.wire.SendNotification(ctx, n)
}

func (c *httpConn) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

func (c *httpConn) Done() <-chan struct{} { return c.done }

func (c *httpConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *httpConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.lose(ErrClosed)
	err := c.wire.Close()
	c.stop()
	c.work.Wait()
	return err
}

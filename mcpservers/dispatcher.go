package mcpservers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A Method answers one JSON-RPC method. Params are nil if the client sent none, else a checked
// object or array. The result is marshalled unchanged. An error other than an [*RPCError] reaches
// the client as an internal error with its text, or that of its method Public.
type Method func(ctx context.Context, params json.RawMessage) (any, error)

// Config describes a server to be dispatched to.
type Config struct {
	// name is the server's name, such as "memory-server".
	Name    string
	Version string
	// MCP answers what Methods does not; the dispatcher takes it over: it announces the methods
	// in its capabilities and guards its tools. Nil means a server without tools.
	MCP *server.MCPServer
	// Methods take precedence over those of MCP.
	Methods map[string]Method
	// Close releases the server's resources; nil if there are none.
	Close func() error
	// Logger may be nil.
	Logger *slog.Logger
}

// Dispatcher answers the messages of an MCP server from any transport. It is safe for concurrent
// use.
type Dispatcher struct {
	name    string
	mcp     *server.MCPServer
	methods map[string]Method
	close   func() error
	log     *slog.Logger
}

// New returns the dispatcher of a server.
func New(cfg Config) (*Dispatcher, error) {
	if cfg.Name == "" {
		return nil, errors.New("new MCP server: no name given")
	}
	for name, method := range cfg.Methods {
		if name == "" || method == nil {
			return nil, fmt.Errorf("new MCP server %q: method %q has no name or no function", cfg.Name, name)
		}
	}
	d := &Dispatcher{name: cfg.Name, mcp: cfg.MCP, methods: maps.Clone(cfg.Methods), close: cfg.Close, log: cfg.Logger}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.mcp == nil {
		d.mcp = server.NewMCPServer(cfg.Name, cfg.Version, server.WithToolCapabilities(false))
	}
	d.mcp.Use(d.guardTool)
	if custom := customMethods(cfg.Methods); len(custom) > 0 {
		server.WithExperimental(custom)(d.mcp)
	}
	return d, nil
}

// Close releases the server's resources. Call it after the last Handle.
func (d *Dispatcher) Close() error {
	if d.close == nil {
		return nil
	}
	return d.close()
}

// customMethods returns the non-standard methods in the form of capabilities.experimental.
func customMethods(methods map[string]Method) map[string]any {
	custom := map[string]any{}
	for name := range methods {
		if !strings.HasPrefix(name, "resources/") && !strings.HasPrefix(name, "tools/") && !strings.HasPrefix(name, "prompts/") {
			custom[name] = struct{}{}
		}
	}
	return custom
}

// Name returns the server's name.
func (d *Dispatcher) Name() string { return d.name }

// Methods returns the names of the registered methods, sorted.
func (d *Dispatcher) Methods() []string { return slices.Sorted(maps.Keys(d.methods)) }

// MCP returns the server that answers all other methods.
func (d *Dispatcher) MCP() *server.MCPServer { return d.mcp }

// Owns reports whether the dispatcher itself answers a method, in front of MCP.
func (d *Dispatcher) Owns(method string) bool {
	_, own := d.methods[method]
	return own
}

// Call runs a method of the dispatcher. The error is an [*RPCError].
func (d *Dispatcher) Call(ctx context.Context, method string, params json.RawMessage) (any, error) {
	own, ok := d.methods[method]
	if !ok {
		return nil, d.notFound(method)
	}
	result, failed := d.call(ctx, method, own, params)
	if failed != nil {
		return nil, failed
	}
	return result, nil
}

// Handle answers one JSON-RPC message; the transport splits batches. The answer to a
// notification, and to an answer of the client, is nil. session separates the requests of clients
// that share the server; it is used if ctx carries no session of mcp-go. Handle never panics.
func (d *Dispatcher) Handle(ctx context.Context, session string, msg json.RawMessage) json.RawMessage {
	req, bad := Parse(msg)
	if bad != nil {
		return d.encode(req.ID, nil, bad)
	}
	if req.Reply {
		return nil
	}
	method, own := d.methods[req.Method]
	if !own {
		return d.pass(ctx, session, req, msg)
	}
	result, failed := d.call(ctx, req.Method, method, req.Params)
	if req.ID == nil {
		return nil
	}
	return d.encode(req.ID, result, failed)
}

// Request answers a request of one of the dispatcher's own methods, without its frame of JSON-RPC: with a
// result, or with an error object. For any other method it returns false.
func (d *Dispatcher) Request(ctx context.Context, name string, params json.RawMessage) (result, failure json.RawMessage, own bool) {
	method, own := d.methods[name]
	if !own {
		return nil, nil, false
	}
	value, failed := d.call(ctx, name, method, params)
	if failed == nil {
		var err error
		if result, err = marshal(value); err == nil {
			return result, nil, true
		}
		d.log.Error("answer cannot be encoded", "server", d.name, "error", err)
		failed = &RPCError{Code: CodeInternal, Message: "Internal server error: the answer cannot be encoded"}
	}
	failure, err := marshal(failed)
	if err != nil { // its data cannot be encoded
		failure, _ = marshal(RPCError{Code: failed.Code, Message: failed.Message})
	}
	return nil, failure, true
}

// call runs a method and turns every failure into an RPCError.
func (d *Dispatcher) call(ctx context.Context, name string, method Method, params json.RawMessage) (result any, failed *RPCError) {
	defer func() {
		if p := recover(); p != nil {
			result, failed = nil, d.panicked(ctx, name, p)
		}
	}()
	result, err := method(ctx, params)
	if err == nil {
		return result, nil
	}
	if own, ok := errors.AsType[*RPCError](err); ok {
		return nil, own
	}
	level := slog.LevelWarn
	if ctx.Err() != nil {
		level = slog.LevelDebug // the caller has gone; the method is not at fault
	}
	d.log.Log(ctx, level, "method failed", "server", d.name, "method", name, "error", err)
	text := err.Error()
	if hiding, ok := errors.AsType[public](err); ok {
		text = hiding.Public()
	}
	return nil, &RPCError{Code: CodeInternal, Message: "Internal server error: " + text}
}

// A public error has a different text for clients than for the log.
type public interface {
	error
	Public() string
}

// panicked logs a panic and returns the error that hides it.
func (d *Dispatcher) panicked(ctx context.Context, name string, p any) *RPCError {
	d.log.ErrorContext(ctx, "method panicked", "server", d.name, "method", name, "panic", p, "stack", string(debug.Stack()))
	return &RPCError{Code: CodeInternal, Message: "Internal server error: the method broke off, see the server's log"}
}

func (d *Dispatcher) encode(id json.RawMessage, result any, failed *RPCError) json.RawMessage {
	var problem any
	if failed != nil {
		problem = failed
	}
	answer, err := respond(id, result, problem)
	if err == nil {
		return answer
	}
	d.log.Error("answer cannot be encoded", "server", d.name, "error", err)
	answer, err = respond(id, nil, &RPCError{Code: CodeInternal, Message: "Internal server error: the answer cannot be encoded"})
	if err != nil {
		return nil // only an id that is not JSON leads here, and ids are checked
	}
	return answer
}

// pass passes a message to mcp-go and restores the request's id in the answer: mcp-go rounds
// large numbers and treats a null id as missing.
func (d *Dispatcher) pass(ctx context.Context, session string, req Request, msg json.RawMessage) (answer json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			answer = d.encode(req.ID, nil, d.panicked(ctx, req.Method, p))
		}
	}()
	if server.ClientSessionFromContext(ctx) == nil {
		ctx = d.mcp.WithContext(ctx, plainSession(session))
	}
	if string(req.ID) == "null" {
		msg = withID(msg, `"null"`)
	}
	response := d.mcp.HandleMessage(ctx, msg)
	if req.ID == nil {
		return nil
	}
	switch r := response.(type) {
	case mcp.JSONRPCResponse:
		return d.encode(req.ID, r.Result, nil)
	case mcp.JSONRPCError:
		return d.encode(req.ID, nil, d.translate(req, r.Error))
	default:
		return d.encode(req.ID, nil, &RPCError{Code: CodeInternal, Message: "Internal server error: no answer"})
	}
}

// translate returns the bundled servers' own wording of an error.
func (d *Dispatcher) translate(req Request, e mcp.JSONRPCErrorDetails) *RPCError {
	if e.Code == CodeMethodNotFound {
		return d.notFound(req.Method)
	}
	return &RPCError{Code: e.Code, Message: e.Message, Data: e.Data}
}

func (d *Dispatcher) notFound(method string) *RPCError {
	return &RPCError{Code: CodeMethodNotFound, Message: fmt.Sprintf("Method '%s' not found on server '%s'", method, d.name)}
}

// withID returns a checked message with another id.
func withID(msg json.RawMessage, id string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(msg, &fields) != nil {
		return msg
	}
	fields["id"] = json.RawMessage(id)
	changed, err := json.Marshal(fields)
	if err != nil {
		return msg
	}
	return changed
}

// guardTool turns a tool's errors and panics into results that a model can read.
func (d *Dispatcher) guardTool(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil {
				_ = d.panicked(ctx, "tools/call "+req.Params.Name, p)
				result, err = mcp.NewToolResultError(fmt.Sprintf("tool %q broke off", req.Params.Name)), nil
			}
		}()
		result, err = next(ctx, req)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if result == nil {
			return mcp.NewToolResultError(fmt.Sprintf("tool %q gave no result", req.Params.Name)), nil
		}
		return result, nil
	}
}

// plainSession is the session of a client whose transport has none: it separates requests and
// takes no notifications.
type plainSession string

// Initialize implements server.ClientSession.
func (plainSession) Initialize() {}

// Initialized implements server.ClientSession.
func (plainSession) Initialized() bool { return true }

// NotificationChannel implements server.ClientSession. mcp-go drops what a channel
// does not take at once, and a nil channel takes nothing.
func (plainSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// SessionID implements server.ClientSession.
func (s plainSession) SessionID() string { return string(s) }

package mcpservers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/buger/jsonparser"

	"molar/schemas"
)

// The error codes of the bundled servers.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	// CodeResourceNotFound is for a conversation or a resource that does not exist.
	CodeResourceNotFound = -32001
	// CodeToolFailed is for a failed tool, on transports that report it as an error.
	CodeToolFailed = -32002
	// CodeConflict is for a write that a later one has replaced.
	CodeConflict = -32003
	// CodeBusy is for a conversation with a turn under way; retry after at most
	// data.retry_after_ms.
	CodeBusy = -32004
	// CodeTooMany is for a client over its rate limit.
	CodeTooMany = -32000
)

// RPCError is a JSON-RPC error. A [Method] returns one to choose code and text;
// the text is shown to clients.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// InvalidParams returns an [RPCError] of that code.
func InvalidParams(format string, args ...any) *RPCError {
	return &RPCError{Code: CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// DecodeParams decodes the params of a [Method] into v, a pointer to a struct. Absent params are an
// empty object and unknown ones are ignored. Names are matched exactly: one that encoding/json
// would accept for its case only is an error, so that all layers read the same parameters.
func DecodeParams(params json.RawMessage, v any) error {
	if len(params) == 0 {
		return nil
	}
	if params[0] != '{' {
		return InvalidParams("an object is needed")
	}
	if err := json.Unmarshal(params, v); err != nil {
		if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && te.Field != "" {
			return InvalidParams("%s cannot be a %s", te.Field, te.Value)
		}
		return InvalidParams("%v", err)
	}
	return jsonparser.ObjectEach(params, func(name, _ []byte, _ jsonparser.ValueType, _ int) error {
		if !plainName(name) {
			return InvalidParams("unknown parameter %q", name)
		}
		return nil
	})
}

func plainName(name []byte) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// Request is a checked JSON-RPC request or notification.
type Request struct {
	ID     json.RawMessage // nil for a notification
	Method string
	Params json.RawMessage // nil when absent or null; else an object or an array
	// Reply marks a client's answer to a request of the server.
	Reply bool
}

// Parse reads one message; the caller splits batches. Field names must be exact; encoding/json
// alone would take "Method" for "method". Beside an error the request holds the id, when one
// could be read.
func Parse(msg json.RawMessage) (Request, *RPCError) {
	var req Request
	if err := schemas.CheckJSON(msg); err != nil {
		return req, &RPCError{Code: CodeParse, Message: "Parse error: " + err.Error()}
	}
	invalid := func(why string) (Request, *RPCError) {
		return req, &RPCError{Code: CodeInvalidRequest, Message: "Invalid request: " + why}
	}
	members := []string{"jsonrpc", "id", "method", "params", "result", "error"}
	var fields map[string]json.RawMessage
	if json.Unmarshal(msg, &fields) != nil || fields == nil {
		return invalid("one object is needed")
	}
	id, hasID := fields["id"]
	if hasID {
		if !validID(id) {
			return invalid("id must be a string, a number or null")
		}
		req.ID = id
	}
	for name := range fields {
		if folded := strings.ToLower(name); folded != name && slices.Contains(members, folded) {
			return invalid(fmt.Sprintf("%q must be written %q", name, folded))
		}
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return invalid(`jsonrpc must be "2.0"`)
	}
	_, hasResult := fields["result"]
	_, hasError := fields["error"]
	if _, hasMethod := fields["method"]; !hasMethod && hasID && (hasResult || hasError) {
		req.Reply = true
		return req, nil
	}
	if json.Unmarshal(fields["method"], &req.Method) != nil || req.Method == "" {
		return invalid("method must be a non-empty string")
	}
	params := bytes.TrimSpace(fields["params"])
	if len(params) > 0 && string(params) != "null" {
		if params[0] != '{' && params[0] != '[' {
			return invalid("params must be an object or an array")
		}
		req.Params = params
	}
	return req, nil
}

func validID(id json.RawMessage) bool {
	c := id[0]
	return c == '"' || c == '-' || (c >= '0' && c <= '9') || string(id) == "null"
}

// Fail builds the answer to a rejected request; a nil id means unknown.
func Fail(id json.RawMessage, failed *RPCError) json.RawMessage {
	answer, err := respond(id, nil, failed)
	if err != nil { // only data that is not JSON leads here
		return json.RawMessage(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal server error"}}`)
	}
	return answer
}

// respond builds the answer to a request: a result, or an error if failed is not nil.
func respond(id json.RawMessage, result any, failed any) (json.RawMessage, error) {
	if id == nil {
		id = json.RawMessage("null") // the id is unknown
	}
	if failed != nil {
		return marshal(struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   any             `json:"error"`
		}{"2.0", id, failed})
	}
	return marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

// marshal does not escape <, > and &: no browser reads an answer, and six bytes for one would
// make texts outgrow the limits of clients.
func marshal(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

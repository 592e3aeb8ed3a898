package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"molar/internal/text"
)

// Methods that the host uses.
const (
	MethodInitialize  = "initialize"
	MethodInitialized = "notifications/initialized"
	MethodCancelled   = "notifications/cancelled"
	MethodListChanged = "notifications/tools/list_changed"
	MethodProgress    = "notifications/progress"
	MethodPing        = "ping"
	MethodListTools   = "tools/list"
	MethodCallTool    = "tools/call"
	MethodElicit      = "elicitation/create"
	MethodDiscover    = "server/discover"
	MethodListen      = "subscriptions/listen"
	MethodSubscribed  = "notifications/subscriptions/acknowledged"
)

// JSON-RPC error codes that the host sends, creates or checks.
const (
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeUnsupportedVersion = -32022
)

const (
	// maxPersonTimeout bounds how long a server's question waits for a person.
	maxPersonTimeout = 10 * time.Minute
	// maxUnreadable bounds the quote of an unreadable error, in bytes.
	maxUnreadable = 400
)

// An rpcMessage is any incoming JSON-RPC message.
type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// readMessage reads a message. It rejects anything without a jsonrpc field of 2.0, such as a log
// line in JSON.
func readMessage(raw []byte) (*rpcMessage, bool) {
	var m rpcMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil || m.JSONRPC != "2.0" {
		return nil, false
	}
	return &m, m.Method != "" || m.Result != nil || m.Error != nil
}

// A WireError is a JSON-RPC error object.
type WireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Encode returns the JSON of the error.
func (e WireError) Encode() json.RawMessage {
	b, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return b
}

// A Reply is the outcome of a request: a result or an error.
type Reply struct {
	Result json.RawMessage
	Err    error
}

// Reply returns the outcome in a response message.
func (m *rpcMessage) Reply(method string) Reply {
	switch {
	case !IsNull(m.Error):
		return Reply{Err: rpcErrorOf(method, m.Error)}
	case m.Result == nil:
		return Reply{Err: &RPCError{Method: method, Code: CodeInternal, Message: "the answer holds neither result nor error"}}
	default:
		return Reply{Result: m.Result}
	}
}

// answerTo returns the outcome of the request with this id; an answer without one is taken for its own.
func (m *rpcMessage) answerTo(id int64, method string) (json.RawMessage, error) {
	if got, ok := ParseID(m.ID); !IsNull(m.ID) && (!ok || got != id) {
		return nil, &RPCError{Method: method, Code: CodeInternal, Message: "the server answered another request"}
	}
	r := m.Reply(method)
	return r.Result, r.Err
}

// readAnswer returns the outcome in the response to the request with this id.
func readAnswer(raw []byte, id int64, method string) (json.RawMessage, error) {
	var m rpcMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("answer to %s: %w", method, err)
	}
	return m.answerTo(id, method)
}

// rpcErrorOf reads an error object; anything else becomes the error's message.
func rpcErrorOf(method string, raw json.RawMessage) *RPCError {
	var e WireError
	if json.Unmarshal(raw, &e) != nil {
		e = WireError{Code: CodeInternal, Message: text.Shorten(string(raw), maxUnreadable)}
	}
	return &RPCError{Method: method, Code: e.Code, Message: e.Message, Data: e.Data}
}

// IsNull reports whether raw is absent or null.
func IsNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// ParseID reads an id of the host; servers may echo it as a string.
func ParseID(raw json.RawMessage) (int64, bool) {
	id, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	return id, err == nil
}

// encodeRequest builds a request on one line, without the line end.
func encodeRequest(id int64, method string, params json.RawMessage) ([]byte, error) {
	b := make([]byte, 0, 64+len(method)+len(params))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	return appendMethod(append(b, ','), method, params)
}

// encodeNotification builds a notification on one line, without the line end.
func encodeNotification(method string, params json.RawMessage) ([]byte, error) {
	return appendMethod([]byte(`{"jsonrpc":"2.0",`), method, params)
}

func appendMethod(b []byte, method string, params json.RawMessage) ([]byte, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	b = append(append(b, `"method":`...), name...)
	if len(params) > 0 {
		b = append(b, `,"params":`...)
		if b, err = appendLine(b, params); err != nil {
			return nil, fmt.Errorf("params of %s: %w", method, err)
		}
	}
	return append(b, '}'), nil
}

// appendLine appends JSON without line breaks, which would split a frame.
func appendLine(b []byte, raw json.RawMessage) ([]byte, error) {
	if !bytes.ContainsAny(raw, "\r\n") {
		if !json.Valid(raw) {
			return nil, errors.New("not valid JSON")
		}
		return append(b, raw...), nil
	}
	buf := bytes.NewBuffer(b)
	if err := json.Compact(buf, raw); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// An Answerer answers a server's requests to the host.
type Answerer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *WireError)

// answerServer returns the message that answers a server's request.
func answerServer(ctx context.Context, answer Answerer, m *rpcMessage) []byte {
	out := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *WireError      `json:"error,omitempty"`
	}{JSONRPC: "2.0", ID: m.ID}
	ctx, cancel := context.WithTimeout(ctx, maxPersonTimeout)
	defer cancel()
	out.Result, out.Error = answer(ctx, m.Method, m.Params)
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}

// cancelParams are the params of notifications/cancelled.
func cancelParams(id int64) json.RawMessage {
	b, err := json.Marshal(map[string]any{"requestId": id, "reason": "the caller no longer waits"})
	if err != nil {
		return nil
	}
	return b
}

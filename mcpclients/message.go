package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// JSON-RPC error codes that the host itself sends or makes up.
const (
	codeMethodNotFound = -32601
	codeInternal       = -32603
)

// A message is any JSON-RPC message as it comes in.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e wireError) encode() json.RawMessage {
	b, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return b
}

// A reply is what a request gets: a result or an error.
type reply struct {
	result json.RawMessage
	err    error
}

// reply turns a response message into what the caller sees.
func (m *message) reply(method string) reply {
	switch {
	case !isNull(m.Error):
		return reply{err: rpcError(method, m.Error)}
	case m.Result == nil:
		return reply{err: &RPCError{Method: method, Code: codeInternal, Message: "the answer holds neither result nor error"}}
	default:
		return reply{result: m.Result}
	}
}

// rpcError reads an error object; what is none is kept as its message.
func rpcError(method string, raw json.RawMessage) *RPCError {
	var e wireError
	if json.Unmarshal(raw, &e) != nil {
		e = wireError{Code: codeInternal, Message: cutText(string(raw), tailLine)}
	}
	return &RPCError{Method: method, Code: e.Code, Message: e.Message, Data: e.Data}
}

// isNull reports whether raw is absent or null.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// parseID reads an id that the host made; servers may echo it as a string.
func parseID(raw json.RawMessage) (int64, bool) {
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

// appendLine appends JSON without line ends, which would break a frame in two.
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

// answerServer builds the message that answers a request of a server's.
func answerServer(ctx context.Context, answer answerer, m *message) []byte {
	out := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *wireError      `json:"error,omitempty"`
	}{JSONRPC: "2.0", ID: m.ID}
	ctx, cancel := context.WithTimeout(ctx, personTimeout)
	defer cancel()
	out.Result, out.Error = answer(ctx, m.Method, m.Params)
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}

// cancelParams are the params of notifications/cancelled.
func cancelParams(id int64, reason string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"requestId": id, "reason": reason})
	if err != nil {
		return nil
	}
	return b
}

package tape

import (
	"encoding/json"
	"fmt"
)

// The MCP methods that matter to a tape.
const (
	MethodInitialize = "initialize"
	MethodCall       = "tools/call"
	MethodList       = "tools/list"
)

// The directions of a frame.
const (
	ToServer   = "c2s"
	FromServer = "s2c"
)

// A Frame is a JSON-RPC message.
type Frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *FrameError     `json:"error,omitempty"`
}

// A FrameError is the error of an answer.
type FrameError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Encode writes the frame.
func (f Frame) Encode() json.RawMessage {
	f.JSONRPC = "2.0"
	data, err := json.Marshal(f)
	if err != nil {
		data, _ = json.Marshal(Frame{JSONRPC: "2.0", ID: f.ID, Error: &FrameError{Code: -32603, Message: fmt.Sprintf("unreadable frame: %v", err)}})
	}
	return data
}

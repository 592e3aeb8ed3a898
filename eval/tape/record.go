package tape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"molar/schemas"
)

// version is the version of the format that this package writes, and the newest that it reads.
const version = 3

// The types of record.
const (
	TypeHeader       = "header"
	TypeUser         = "user"
	TypeModelRequest = "model_request"
	TypeModelChunk   = "model_chunk"
	TypeModelEnd     = "model_end"
	TypeGuardrail    = "guardrail"
	TypeToolCall     = "tool_call"
	TypeToolResult   = "tool_result"
	TypeMCP          = "mcp"
	TypeAnswer       = "answer"
	TypeJudge        = "judge"
)

// passProbe marks exchanges that are not model calls, such as lists of models. They may be
// served any number of times.
const passProbe = "probe"

// A Record is one line of a tape. Type decides which of the other fields are set.
type Record struct {
	Type string `json:"type"`
	// Header is set for TypeHeader, the first record.
	Header *Header `json:"header,omitempty"`
	// Seq numbers the model exchanges of a tape from 1; chunks and ends carry the Seq of their
	// request. Turn numbers turns from 1; 0 is outside of turns.
	Seq  int `json:"seq,omitempty"`
	Turn int `json:"turn,omitempty"`

	// Conversation and Assistant belong to TypeUser, in addition to Text.
	Conversation string `json:"conversation,omitempty"`
	Assistant    string `json:"assistant,omitempty"`
	// Text is the person's question or the assistant's answer.
	Text string `json:"text,omitempty"`

	// Pass, Method, Path and Body belong to TypeModelRequest. Path has no host and no secret.
	// Unkeyed means that Body was written by another program and is not compared.
	Pass    string          `json:"pass,omitempty"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Unkeyed bool            `json:"unkeyed,omitempty"`

	// Raw or, if it is no valid UTF-8, B64 is a piece of an answer, in the order of arrival.
	Raw string `json:"raw,omitempty"`
	B64 []byte `json:"b64,omitempty"`
	// N numbers the chunks of an exchange on older tapes, from 1, and is their count at the end.
	N int `json:"n,omitempty"`

	// Status and ContentType belong to TypeModelEnd; Error is the error that ended the exchange.
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Error       string `json:"error,omitempty"`

	// Decision is "pass" or "refuse".
	Decision string `json:"decision,omitempty"`

	// Call is set for TypeToolCall and TypeToolResult; Server and Tool identify the tool.
	Call    *schemas.ToolCall `json:"call,omitempty"`
	Server  string            `json:"server,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	IsError bool              `json:"is_error,omitempty"`
	Content json.RawMessage   `json:"content,omitempty"`

	// Slot is the position of a call in its round, from 1, in the request of a tools/call. It
	// distinguishes equal calls.
	Slot int `json:"slot,omitempty"`
	// Dir is "c2s" or "s2c", Frame the JSON-RPC message.
	Dir   string          `json:"dir,omitempty"`
	Frame json.RawMessage `json:"frame,omitempty"`
	// Sha is the hash of what came from outside: of a server's frame, or of a model's answer, in
	// TypeModelEnd. Older tapes have it only for the results of calls.
	Sha string `json:"sha,omitempty"`

	// Done is the summary of the turn, for TypeAnswer.
	Done *Sum `json:"done,omitempty"`

	// Judge is set for TypeJudge: a verdict on the answer of Turn, after all turns.
	Judge *Judgement `json:"judge,omitempty"`

	// Line is the line of the record in its file.
	Line int `json:"-"`
}

// SetBytes stores the bytes of a chunk in Raw or B64.
func (r *Record) SetBytes(data []byte) {
	if utf8.Valid(data) {
		r.Raw = string(data)
		return
	}
	r.B64 = bytes.Clone(data)
}

// Bytes returns the bytes of a chunk.
func (r *Record) Bytes() []byte {
	if r.B64 != nil {
		return r.B64
	}
	return []byte(r.Raw)
}

// The MCP methods that tapes use.
const (
	MethodInitialize = "initialize"
	MethodDiscover   = "server/discover"
	MethodCall       = "tools/call"
	MethodList       = "tools/list"
)

// The directions of a frame.
const (
	toServer   = "c2s"
	fromServer = "s2c"
)

// An rpcFrame is a JSON-RPC message.
type rpcFrame struct {
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

// Encode returns the frame as JSON.
func (f rpcFrame) Encode() json.RawMessage {
	f.JSONRPC = "2.0"
	data, err := json.Marshal(f)
	if err != nil {
		data, _ = json.Marshal(rpcFrame{JSONRPC: "2.0", ID: f.ID, Error: &FrameError{Code: -32603, Message: fmt.Sprintf("unreadable frame: %v", err)}})
	}
	return data
}

// A Header describes a tape.
type Header struct {
	V int `json:"v"`
	// TapeID is a UUID. Case is the id of the tape's case, if any.
	TapeID string `json:"tape_id"`
	Case   string `json:"case,omitempty"`
	// Host is the version of the program that recorded.
	Host     string `json:"host"`
	Recorded string `json:"recorded,omitempty"` // RFC 3339, UTC
	Route
	// Rest is the route of everything outside of turns, such as summaries, if it differs.
	Rest *Route `json:"rest,omitempty"`
	// Judge is the route of the small model's calls, if they go to another provider than the turn's.
	Judge *Route `json:"judge,omitempty"`
	// Settings describe, by assistant, the provider and models that the config named.
	Settings map[string]string `json:"settings,omitempty"`
	// Attached are servers that came from a flag rather than the config.
	Attached []string `json:"attached,omitempty"`
	// Imported is the format from which the tape was made, if it was not recorded.
	Imported string `json:"imported,omitempty"`
}

// A Route is a provider with its models and its address.
type Route struct {
	Provider string `json:"provider"`
	// Service is the service whose API the provider speaks, if the provider is an endpoint with a name
	// of its own.
	Service string `json:"service,omitempty"`
	Model   string `json:"model,omitempty"`
	Small   string `json:"small_model,omitempty"`
	// BaseURL is the address of the model service without user, password and query.
	BaseURL string `json:"base_url,omitempty"`
}

// Speaks returns the service whose API the provider speaks.
func (r Route) Speaks() string { return cmp.Or(r.Service, r.Provider) }

// Routes returns the route of turns and the route of everything else.
func (h *Header) Routes() (turns, rest Route) {
	if h.Rest != nil {
		return h.Route, *h.Rest
	}
	return h.Route, h.Route
}

// A Sum is the summary at the end of a turn.
type Sum struct {
	Finish     string           `json:"finish_reason,omitempty"`
	Refused    bool             `json:"refused,omitempty"`
	ModelCalls int              `json:"model_calls"`
	ToolCalls  int              `json:"tool_calls"`
	Language   string           `json:"language,omitempty"`
	Usage      schemas.Usage    `json:"usage"`
	Unapproved []string         `json:"unapproved,omitempty"`
	Sources    []schemas.Source `json:"sources,omitempty"`
	Error      string           `json:"error,omitempty"`
}

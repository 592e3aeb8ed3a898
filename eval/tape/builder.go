package tape

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"molar/schemas"
)

// A Builder writes a tape that was not recorded at the edges: one made from another program's
// recording, from a trace, or by hand.
type Builder struct {
	w    *Writer
	seq  int
	rpc  int
	turn int
	sum  Sum
}

// NewBuilder writes the header and returns a builder.
func NewBuilder(to io.Writer, h Header) *Builder {
	return &Builder{w: newWriter(to, NewRedactor(), h)}
}

// Err returns the first write error.
func (b *Builder) Err() error { return b.w.Err() }

// Server writes the handshake and the tool list of a server.
func (b *Builder) Server(name string, tools []Tool) {
	b.frames(0, name, MethodInitialize, map[string]any{}, map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
		"serverInfo": map[string]any{"name": name, "version": "1"},
	})
	if tools == nil {
		tools = []Tool{}
	}
	b.frames(0, name, MethodList, map[string]any{}, map[string]any{"tools": tools})
}

// frames writes a request frame and its answer.
func (b *Builder) frames(slot int, server, method string, params, result any) {
	b.rpc++
	b.w.Write(&Record{Type: TypeMCP, Turn: b.turn, Server: server, Dir: toServer, Slot: slot, Frame: rpcFrame{ID: b.rpc, Method: method, Params: encode(params)}.Encode()})
	b.w.Write(&Record{Type: TypeMCP, Turn: b.turn, Server: server, Dir: fromServer, Frame: rpcFrame{ID: b.rpc, Result: encode(result)}.Encode()})
}

// User begins a turn.
func (b *Builder) User(text string) {
	b.turn++
	b.sum = Sum{}
	b.w.Write(&Record{Type: TypeUser, Turn: b.turn, Text: text})
}

// Guardrail writes the guardrail's decision on the turn.
func (b *Builder) Guardrail(pass bool) {
	decision := "refuse"
	if pass {
		decision = "pass"
	}
	b.w.Write(&Record{Type: TypeGuardrail, Turn: b.turn, Decision: decision})
}

// Exchange writes a model call whose request is not compared, since another program made it. An
// empty pass matches any tool or answer pass of the turn.
func (b *Builder) Exchange(pass, method, path string, body json.RawMessage, status int, contentType string, chunks ...[]byte) {
	b.exchange(pass, method, path, body, Record{Status: status, ContentType: contentType}, chunks...)
}

// exchange writes a model call with the given end record.
func (b *Builder) exchange(pass, method, path string, body json.RawMessage, end Record, chunks ...[]byte) {
	b.seq++
	b.sum.ModelCalls++
	b.w.Write(&Record{Type: TypeModelRequest, Seq: b.seq, Turn: b.turn, Pass: pass, Method: method, Path: path, Body: body, Unkeyed: true})
	for _, data := range chunks {
		rec := &Record{Type: TypeModelChunk, Seq: b.seq}
		rec.SetBytes(data)
		b.w.Write(rec)
	}
	end.Type, end.Seq = TypeModelEnd, b.seq
	b.w.Write(&end)
}

// ModelAnswer writes a model's answer in the wire format of the provider, so that a replay
// handles it like the real answer. failure describes how the call failed, or is "".
func (b *Builder) ModelAnswer(provider, pass string, a WireAnswer, failure string) {
	stream := a.Stream(provider, "")
	method, end := http.MethodPost, Record{Status: http.StatusOK, ContentType: stream.ContentType, Error: failure}
	if stream.Path == "" { // a provider without a wire
		method, end.Status = "", 0
	}
	switch {
	case failure != "" && a.Text+a.Thinking == "" && len(a.Calls) == 0:
		// There was no output: write a refusal that no provider retries.
		end = Record{Status: http.StatusBadRequest, ContentType: "application/json"}
		stream.Chunks = [][]byte{Refusal(http.StatusBadRequest, failure)}
	case failure != "":
		stream.Chunks = stream.Chunks[:len(stream.Chunks)-1] // the stream ended early
	}
	b.exchange(pass, method, stream.Path, nil, end, stream.Chunks...)
}

// Output returns a tool's output as the host reads it: the text itself if it is a JSON object or list,
// else a JSON string.
func Output(text string) json.RawMessage {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if json.Valid([]byte(trimmed)) {
			return json.RawMessage(trimmed)
		}
	}
	return schemas.TextOutput(text)
}

// Call writes a tool call with its result, which is text or JSON. slot is its position among the
// calls of one answer, from 1.
func (b *Builder) Call(slot int, server, tool string, call schemas.ToolCall, output json.RawMessage, isError bool) {
	var args map[string]any
	if json.Unmarshal([]byte(call.Function.Arguments), &args) != nil {
		args = map[string]any{}
	}
	text := string(output)
	var s string
	if json.Unmarshal(output, &s) == nil {
		text = s
	}
	result := map[string]any{"content": []map[string]any{{"type": "text", "text": text}}}
	if isError {
		result["isError"] = true
	}
	b.writeCall(call, server, tool, output, isError, func() {
		b.frames(slot, server, MethodCall, map[string]any{"name": tool, "arguments": args}, result)
	})
}

// LocalCall writes a call that reached no server, with the output that the model got: one that failed before, or
// one of a tool of the host.
func (b *Builder) LocalCall(call schemas.ToolCall, server, tool string, output json.RawMessage, isError bool) {
	b.writeCall(call, server, tool, output, isError, func() {})
}

func (b *Builder) writeCall(call schemas.ToolCall, server, tool string, output json.RawMessage, isError bool, frames func()) {
	b.w.Write(&Record{Type: TypeToolCall, Turn: b.turn, Call: &call, Server: server, Tool: tool})
	frames()
	b.w.Write(&Record{Type: TypeToolResult, Turn: b.turn, Call: &call, Server: server, Tool: tool, Content: output, IsError: isError})
	b.sum.ToolCalls++
}

// Answer ends a turn.
func (b *Builder) Answer(text string) {
	done := b.sum
	done.Finish = "stop"
	b.w.Write(&Record{Type: TypeAnswer, Turn: b.turn, Text: text, Done: &done})
}

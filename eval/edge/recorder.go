package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"sync"

	"molar/agent"
	"molar/eval/tape"
	"molar/mcpclients"
	"molar/providers"
	"molar/toolhandler"
)

// RecorderConfig configures a [Recorder].
type RecorderConfig struct {
	// To takes the tape. The recorder does not close it.
	To io.Writer
	// Header is written first; its version is set.
	Header tape.Header
	// Redactor replaces secrets; nil knows the general rules only.
	Redactor *tape.Redactor
	// Skip names servers whose frames are not recorded.
	Skip []string
}

// A Recorder writes a tape of what crosses the edges. It is safe for concurrent use,
// and delays nothing: every chunk is passed on before it is written.
type Recorder struct {
	w      *tape.Writer
	redact *tape.Redactor
	skip   map[string]bool
	seq    counter
	turns  counter
	rpc    counter

	mu       sync.Mutex
	failures []string
}

// NewRecorder writes the header and returns a recorder.
func NewRecorder(cfg RecorderConfig) (*Recorder, error) {
	if cfg.To == nil {
		return nil, errors.New("recorder needs something to write to")
	}
	if cfg.Redactor == nil {
		cfg.Redactor = tape.NewRedactor()
	}
	r := &Recorder{
		w: tape.NewWriter(cfg.To, cfg.Redactor, cfg.Header), redact: cfg.Redactor,
		skip: make(map[string]bool),
	}
	for _, name := range cfg.Skip {
		r.skip[name] = true
	}
	return r, r.Err()
}

// Err returns the first fault of writing; recording stopped there.
func (r *Recorder) Err() error { return r.w.Err() }

// Failures tells which model calls ended in an error, and which calls lost their server:
// reasons not to take the recording for what the host should do.
func (r *Recorder) Failures() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}

func (r *Recorder) failed(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, what)
}

// Provider wraps a provider so that the transport below it knows the pass. One
// without a transport (local) is recorded itself.
func (r *Recorder) Provider(p providers.Provider, local bool) providers.Provider {
	if local {
		p = recordedProvider{p, r}
	}
	return passing{p}
}

// recordedProvider records a provider that has no transport.
type recordedProvider struct {
	providers.Provider
	r *Recorder
}

func (p recordedProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		x := p.r.begin(ctx, "", "", tape.EncodeRequest(req))
		var failure error
		defer func() { x.end(0, "", failure) }()
		for chunk, err := range p.Provider.Stream(ctx, req) {
			failure = err
			if err == nil {
				x.chunk(tape.EncodeChunk(chunk))
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// An exchange is one model call that is being recorded.
type exchange struct {
	r      *Recorder
	slot   slot
	gaveUp <-chan struct{} // closed when the host wants no answer any more
	seq    int

	mu     sync.Mutex // a body may be closed while it is read
	chunks int
	ended  bool
}

// begin writes the request of an exchange.
func (r *Recorder) begin(ctx context.Context, method, path string, body []byte) *exchange {
	s := slotOf(ctx, path)
	x := &exchange{r: r, slot: s, gaveUp: ctx.Done(), seq: r.seq.next()}
	rec := &tape.Record{Type: tape.TypeModelRequest, Seq: x.seq, Turn: s.turn, Pass: string(s.pass), Method: method, Path: path}
	if json.Valid(body) {
		rec.Body = body
	}
	r.w.Write(rec)
	return x
}

// chunk writes bytes as they arrived. What comes after the end is nobody's any more.
func (x *exchange) chunk(data []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.chunks++
	rec := &tape.Record{Type: tape.TypeModelChunk, Seq: x.seq, N: x.chunks}
	rec.SetBytes(data)
	x.r.w.Write(rec)
}

// end closes the exchange, once.
func (x *exchange) end(status int, contentType string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	rec := &tape.Record{
		Type: tape.TypeModelEnd, Seq: x.seq, N: x.chunks, Status: status, ContentType: contentType,
	}
	if err != nil {
		rec.Error = err.Error()
	}
	x.r.w.Write(rec)
	x.judge(status, err)
}

// judge notes a model call that failed, unless the host itself gave it up.
func (x *exchange) judge(status int, err error) {
	select {
	case <-x.gaveUp:
		return
	default:
	}
	if x.slot.pass == tape.PassProbe || err == nil && status < http.StatusBadRequest {
		return
	}
	what := fmt.Sprintf("status %d", status)
	if err != nil {
		what = err.Error()
	}
	x.r.failed(fmt.Sprintf("turn %d: the %s call of the model ended in an error: %s", x.slot.turn, x.slot.pass, what))
}

// Dial wraps the dialer of MCP servers.
func (r *Recorder) Dial(inner mcpclients.Dialer) mcpclients.Dialer {
	return func(ctx context.Context, server mcpclients.ServerConfig, notify mcpclients.Notify) (mcpclients.Conn, error) {
		conn, err := inner(ctx, server, notify)
		if err != nil || r.skip[server.Name] {
			return conn, err
		}
		return &recordedConn{Conn: conn, r: r, server: server.Name}, nil
	}
}

// recordedConn records the frames of one connection.
type recordedConn struct {
	mcpclients.Conn
	r      *Recorder
	server string
}

// Inner is the connection below.
func (c *recordedConn) Inner() mcpclients.Conn { return c.Conn }

func (c *recordedConn) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id := c.r.rpc.next()
	c.r.w.Write(&tape.Record{Type: tape.TypeMCP, Turn: turnOf(ctx), Server: c.server, Dir: tape.ToServer, Slot: toolhandler.Slot(ctx), Frame: tape.Frame{ID: id, Method: method, Params: params}.Encode()})
	result, err := c.Conn.Request(ctx, method, params)
	answer := tape.Frame{ID: id, Result: result}
	if refused, ok := errors.AsType[*mcpclients.RPCError](err); ok {
		answer = tape.Frame{ID: id, Error: &tape.FrameError{Code: refused.Code, Message: refused.Message, Data: refused.Data}}
	} else if err != nil {
		if ctx.Err() == nil && method == tape.MethodCall {
			c.r.failed(fmt.Sprintf("turn %d: a call on server %s got no answer: %v", turnOf(ctx), c.server, err))
		}
		c.r.w.Write(&tape.Record{Type: tape.TypeMCP, Turn: turnOf(ctx), Server: c.server, Dir: tape.FromServer, Error: err.Error(), Frame: tape.Frame{ID: id}.Encode()})
		return result, err
	}
	rec := &tape.Record{Type: tape.TypeMCP, Turn: turnOf(ctx), Server: c.server, Dir: tape.FromServer, Frame: answer.Encode()}
	if method == tape.MethodCall {
		c.r.w.Seal(rec)
	}
	c.r.w.Write(rec)
	return result, err
}

// Turn runs a turn and records what happens in it.
func (r *Recorder) Turn(ctx context.Context, t agent.Turn, run func(context.Context, agent.Turn) iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		turn := r.turns.next()
		ctx := InTurn(ctx, turn)
		question, _ := t.Question()
		seen := watch{r: r, turn: turn, user: &tape.Record{Type: tape.TypeUser, Turn: turn, Conversation: t.ConversationID, Assistant: t.Assistant, Text: question}}
		defer seen.end()
		for event, err := range run(ctx, t) {
			seen.event(event, err)
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// watch turns the events of a turn into records.
type watch struct {
	r      *Recorder
	turn   int
	user   *tape.Record // until it is written: the first event tells the conversation
	answer []byte
	done   *agent.Done
	err    error
}

func (w *watch) event(e agent.Event, err error) {
	if e.Start != nil && w.user != nil {
		w.user.Conversation, w.user.Assistant = e.Start.ConversationID, e.Start.Assistant
	}
	w.begin()
	if err != nil {
		w.err = err
		return
	}
	switch e.Kind {
	case agent.EventText:
		w.answer = append(w.answer, e.Text...)
	case agent.EventStep:
		if d := tape.Decision(e); d != "" {
			w.r.w.Write(&tape.Record{Type: tape.TypeGuardrail, Turn: w.turn, Decision: d})
		}
	case agent.EventToolCall:
		w.r.w.Write(&tape.Record{Type: tape.TypeToolCall, Turn: w.turn, Call: e.Call, Server: e.Server, Tool: e.ToolName})
	case agent.EventToolResult:
		w.r.w.Write(resultRecord(w.turn, e))
	case agent.EventDone:
		w.done = e.Done
	}
}

func resultRecord(turn int, e agent.Event) *tape.Record {
	rec := &tape.Record{Type: tape.TypeToolResult, Turn: turn, Call: e.Call, Server: e.Server, Tool: e.ToolName}
	if e.Result != nil {
		rec.IsError, rec.Content = e.Result.IsError, e.Result.Output
	}
	return rec
}

// begin writes what was asked, once.
func (w *watch) begin() {
	if w.user != nil {
		w.r.w.Write(w.user)
		w.user = nil
	}
}

func (w *watch) end() {
	w.begin()
	w.r.w.Write(&tape.Record{Type: tape.TypeAnswer, Turn: w.turn, Text: string(w.answer), Done: tape.SumOf(w.done, w.err)})
}

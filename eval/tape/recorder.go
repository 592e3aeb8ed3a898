package tape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"molar/agent"
	"molar/mcpclients"
	"molar/providers"
	"molar/toolhandler"
)

// RecorderConfig configures a [Recorder].
type RecorderConfig struct {
	// To takes the tape. The recorder does not close it.
	To io.Writer
	// Header is written first; its version is set.
	Header Header
	// Redactor replaces secrets; nil knows the general rules only.
	Redactor *Redactor
	// Skip names servers whose frames are not recorded.
	Skip []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Recorder writes a tape of what crosses the edges. It is safe for concurrent use,
// and delays nothing: every chunk is passed on before it is written.
type Recorder struct {
	w     writer
	canon *canon
	skip  map[string]bool
	now   func() time.Time
	seq   counter
	turns counter
	rpc   counter
}

// NewRecorder writes the header and returns a recorder.
func NewRecorder(cfg RecorderConfig) (*Recorder, error) {
	if cfg.To == nil {
		return nil, errors.New("recorder needs something to write to")
	}
	if cfg.Redactor == nil {
		cfg.Redactor = NewRedactor()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Recorder{canon: newCanon(), skip: make(map[string]bool), now: cfg.Now}
	r.w.to, r.w.redact = cfg.To, cfg.Redactor
	for _, name := range cfg.Skip {
		r.skip[name] = true
	}
	cfg.Header.V = Version
	r.w.write(&Record{Type: TypeHeader, Header: &cfg.Header})
	return r, r.Err()
}

// Err returns the first fault of writing; recording stopped there.
func (r *Recorder) Err() error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.w.err
}

func (r *Recorder) since(start time.Time) float64 {
	return float64(r.now().Sub(start).Microseconds()) / 1000
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
		x := p.r.begin(slotOf(ctx), "", "", encodeLocal(req))
		var failure error
		defer func() { x.end(0, "", failure) }()
		for chunk, err := range p.Provider.Stream(ctx, req) {
			failure = err
			if err == nil {
				x.chunk([]byte(encodeChunk(chunk)))
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// An exchange is one model call that is being recorded.
type exchange struct {
	r       *Recorder
	seq     int
	started time.Time

	mu     sync.Mutex // a body may be closed while it is read
	chunks int
	first  float64
	ended  bool
}

// begin writes the request of an exchange.
func (r *Recorder) begin(s slot, method, path string, body []byte) *exchange {
	x := &exchange{r: r, seq: r.seq.next(), started: r.now()}
	rec := &Record{Type: TypeModelRequest, Seq: x.seq, Turn: s.turn, Pass: string(s.pass), Method: method, Path: path, Offered: s.offered}
	if json.Valid(body) {
		rec.Body = body
		keys := r.canon.request(body).keys()
		rec.Keys = &keys
	}
	r.w.write(rec)
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
	rec := &Record{Type: TypeModelChunk, Seq: x.seq, N: x.chunks, TookMS: x.r.since(x.started)}
	if x.chunks == 1 {
		x.first = rec.TookMS
	}
	chunk(rec, data)
	x.r.w.write(rec)
}

// end closes the exchange, once.
func (x *exchange) end(status int, contentType string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	rec := &Record{
		Type: TypeModelEnd, Seq: x.seq, N: x.chunks, Status: status, ContentType: contentType,
		FirstMS: x.first, TookMS: x.r.since(x.started),
	}
	if err != nil {
		rec.Error = err.Error()
	}
	x.r.w.write(rec)
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
	id, started := c.r.rpc.next(), c.r.now()
	c.r.w.write(&Record{Type: TypeMCP, Turn: turnOf(ctx), Server: c.server, Dir: toServer, Slot: toolhandler.Slot(ctx), Frame: encodeFrame(frame{ID: id, Method: method, Params: params})})
	result, err := c.Conn.Request(ctx, method, params)
	answer := frame{ID: id, Result: result}
	if refused, ok := errors.AsType[*mcpclients.RPCError](err); ok {
		answer = frame{ID: id, Error: &frameError{Code: refused.Code, Message: refused.Message, Data: refused.Data}}
	} else if err != nil {
		c.r.w.write(&Record{Type: TypeMCP, Turn: turnOf(ctx), Server: c.server, Dir: fromServer, TookMS: c.r.since(started), Error: err.Error(), Frame: encodeFrame(frame{ID: id})})
		return result, err
	}
	rec := &Record{Type: TypeMCP, Turn: turnOf(ctx), Server: c.server, Dir: fromServer, TookMS: c.r.since(started), Frame: encodeFrame(answer)}
	if method == methodCall {
		c.r.w.seal(rec)
	}
	c.r.w.write(rec)
	return result, err
}

// Turn runs a turn and records what happens in it.
func (r *Recorder) Turn(ctx context.Context, t agent.Turn, run func(context.Context, agent.Turn) iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		turn := r.turns.next()
		ctx := InTurn(ctx, turn)
		question, _ := t.Question()
		seen := watch{r: r, turn: turn, user: &Record{Type: TypeUser, Turn: turn, Conversation: t.ConversationID, Assistant: t.Assistant, Text: question}}
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
	user   *Record // until it is written: the first event tells the conversation
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
		if d := decision(e); d != "" {
			w.r.w.write(&Record{Type: TypeGuardrail, Turn: w.turn, Decision: d})
		}
	case agent.EventToolCall:
		w.r.w.write(&Record{Type: TypeToolCall, Turn: w.turn, Call: e.Call, Server: e.Server, Tool: e.ToolName})
	case agent.EventToolResult:
		w.r.w.write(resultRecord(w.turn, e))
	case agent.EventDone:
		w.done = e.Done
	}
}

// decision reads the guardrail's verdict out of a step.
func decision(e agent.Event) string {
	switch {
	case e.Step != "2.1":
		return ""
	case e.Text == "Guardrail result: PASSED":
		return "pass"
	}
	return "refuse"
}

func resultRecord(turn int, e agent.Event) *Record {
	rec := &Record{Type: TypeToolResult, Turn: turn, Call: e.Call, Server: e.Server, Tool: e.ToolName}
	if e.Result != nil {
		rec.IsError, rec.Content = e.Result.IsError, e.Result.Output
		rec.TookMS = float64(e.Result.Duration.Microseconds()) / 1000
	}
	return rec
}

// begin writes what was asked, once.
func (w *watch) begin() {
	if w.user != nil {
		w.r.w.write(w.user)
		w.user = nil
	}
}

func (w *watch) end() {
	w.begin()
	w.r.w.write(&Record{Type: TypeAnswer, Turn: w.turn, Text: string(w.answer), Done: SumOf(w.done, w.err)})
}

// SumOf sums a turn up by its last event and its error.
func SumOf(d *agent.Done, err error) *Sum {
	s := &Sum{}
	if d != nil {
		s.Finish, s.Refused, s.ModelCalls, s.ToolCalls = string(d.Finish), d.Refused, d.ModelCalls, d.ToolCalls
		s.Language, s.Usage, s.Unapproved, s.Sources = d.Language, d.Usage, d.Unapproved, d.Sources
	}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// The directions of a frame.
const (
	toServer   = "c2s"
	fromServer = "s2c"
)

// A frame is a JSON-RPC message.
type frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *frameError     `json:"error,omitempty"`
}

type frameError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func encodeFrame(f frame) json.RawMessage {
	f.JSONRPC = "2.0"
	data, err := json.Marshal(f)
	if err != nil {
		data, _ = json.Marshal(frame{JSONRPC: "2.0", ID: f.ID, Error: &frameError{Code: -32603, Message: fmt.Sprintf("unreadable frame: %v", err)}})
	}
	return data
}

package tape

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
	"sync/atomic"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// RecorderConfig configures a [Recorder].
type RecorderConfig struct {
	// To receives the tape. The recorder does not close it.
	To io.Writer
	// Header is written first; the recorder sets its version.
	Header Header
	// Redactor replaces secrets; nil means one with only the general rules.
	Redactor *Redactor
	// Skip names servers whose frames are not recorded.
	Skip []string
	// Number gives the calls of models ids that are the same in every recording, unless another edge does.
	Number bool
}

// A Recorder writes a tape of the traffic at the edges. It is safe for concurrent use.
type Recorder struct {
	tap
	w      *Writer
	redact *Redactor
	// The numbers of model calls, turns, and requests to servers so far.
	seq, turns, rpc atomic.Int64

	number bool
	ids    callIDs

	mu       sync.Mutex
	failures []string
}

// NewRecorder writes the header and returns a recorder.
func NewRecorder(cfg RecorderConfig) (*Recorder, error) {
	if cfg.To == nil {
		return nil, errors.New("recorder needs something to write to")
	}
	if cfg.Redactor == nil {
		cfg.Redactor = NewRedactor()
	}
	r := &Recorder{w: newWriter(cfg.To, cfg.Redactor, cfg.Header), redact: cfg.Redactor, number: cfg.Number}
	r.tap = tap{recorder: func(context.Context) *Recorder { return r }, skip: cfg.Skip}
	return r, r.Err()
}

// Provider wraps a provider.
func (r *Recorder) Provider(p providers.Provider, local bool) providers.Provider {
	p = r.tap.Provider(p, local)
	if r.number {
		return numbered{p, func(turn int, _ schemas.ToolCall) string { return r.ids.next(turn) }}
	}
	return p
}

// Err returns the first write error, at which recording stopped.
func (r *Recorder) Err() error { return r.w.Err() }

// Failures describes the model calls that failed and the tool calls that got no answer: reasons
// not to use the recording as the expected behaviour.
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

// A recording is a model call that is being recorded.
type recording struct {
	r        *Recorder
	slot     slot
	canceled <-chan struct{} // closed when the host cancels the call
	seq      int

	mu    sync.Mutex // a body may be closed while it is read
	ended bool
}

// begin writes the request of an exchange.
func (r *Recorder) begin(ctx context.Context, method, path string, body []byte) *recording {
	s := slotOf(ctx, path)
	x := &recording{r: r, slot: s, canceled: ctx.Done(), seq: int(r.seq.Add(1))}
	rec := &Record{Type: TypeModelRequest, Seq: x.seq, Turn: s.turn, Pass: string(s.pass), Method: method, Path: path}
	if json.Valid(body) {
		rec.Body = body
	}
	r.w.Write(rec)
	return x
}

// chunk writes bytes as they arrived. It drops bytes after the end.
func (x *recording) chunk(data []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	rec := &Record{Type: TypeModelChunk, Seq: x.seq}
	rec.SetBytes(data)
	x.r.w.Write(rec)
}

// end finishes the exchange, once. A failure is noted unless the host canceled the call.
func (x *recording) end(status int, contentType string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	rec := &Record{Type: TypeModelEnd, Seq: x.seq, Status: status, ContentType: contentType}
	what := fmt.Sprintf("status %d", status)
	if err != nil {
		rec.Error, what = err.Error(), err.Error()
	}
	x.r.w.Write(rec)
	select {
	case <-x.canceled:
		return
	default:
	}
	if x.slot.pass != passProbe && (err != nil || status >= http.StatusBadRequest) {
		x.r.failed(fmt.Sprintf("turn %d: the %s call of the model ended in an error: %s", x.slot.turn, x.slot.pass, what))
	}
}

// Turn runs a turn and records it.
func (r *Recorder) Turn(ctx context.Context, t agent.Turn, run Run) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		turn := int(r.turns.Add(1))
		question, _ := t.Question()
		w := turnWatch{r: r, turn: turn, user: &Record{Type: TypeUser, Conversation: t.ConversationID, Assistant: t.Assistant, Text: question}}
		defer w.end()
		for event, err := range run(InTurn(ctx, turn), t) {
			w.event(event, err)
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// A Run runs a turn of the host.
type Run = func(context.Context, agent.Turn) iter.Seq2[answer.Event, error]

// turnWatch writes the events of a turn as records.
type turnWatch struct {
	r    *Recorder
	turn int
	user *Record // nil once written: the first event names the conversation
	seen Turn
}

func (w *turnWatch) write(rec *Record) {
	rec.Turn = w.turn
	w.r.w.Write(rec)
}

func (w *turnWatch) event(e answer.Event, err error) {
	if e.Start != nil && w.user != nil {
		w.user.Conversation, w.user.Assistant = e.Start.ConversationID, e.Start.Assistant
	}
	w.begin()
	w.seen.Event(e, err)
	if err != nil {
		return
	}
	switch e.Kind {
	case answer.KindStep:
		if d := decision(e); d != "" {
			w.write(&Record{Type: TypeGuardrail, Decision: d})
		}
	case answer.KindToolCall:
		w.write(&Record{Type: TypeToolCall, Call: e.Call, Server: e.Server, Tool: e.ToolName})
	case answer.KindToolResult:
		rec := &Record{Type: TypeToolResult, Call: e.Call, Server: e.Server, Tool: e.ToolName}
		if e.Result != nil {
			rec.IsError, rec.Content = e.Result.IsError, e.Result.Output
		}
		w.write(rec)
	}
}

// begin writes the question, once.
func (w *turnWatch) begin() {
	if w.user != nil {
		w.write(w.user)
		w.user = nil
	}
}

func (w *turnWatch) end() {
	w.begin()
	w.write(&Record{Type: TypeAnswer, Text: w.seen.Answer, Done: &w.seen.Sum})
}

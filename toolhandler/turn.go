package toolhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"molar/schemas"
)

// Limits are a turn's budget for tools.
type Limits struct {
	// Calls is how many calls may be executed; 0 means 16.
	Calls int
	// Time bounds the execution of all calls together, without the time that a
	// person takes to decide; 0 means 120 s.
	Time time.Duration
}

// Defaults of [Limits].
const (
	DefaultCalls = 16
	DefaultTime  = 120 * time.Second
)

// TurnConfig says what a turn may call.
type TurnConfig struct {
	// Tools are the offered tools, which the turn keeps and nobody changes.
	Tools []schemas.Tool
	// Read names the servers whose results the model has already seen, in this turn
	// or in what memory gave.
	Read []string
	// Approver is nil when nobody is there to ask.
	Approver Approver
	Limits   Limits
}

// A Turn executes the calls of one turn. Rounds of one turn run one after the other.
type Turn struct {
	h        *Handler
	tools    []schemas.Tool
	approver Approver
	calls    int
	left     time.Duration
	read     map[string]bool
}

// Begin starts the tool side of a turn.
func (h *Handler) Begin(cfg TurnConfig) *Turn {
	t := &Turn{
		h:        h,
		tools:    cfg.Tools,
		approver: cfg.Approver,
		calls:    cfg.Limits.Calls,
		left:     cfg.Limits.Time,
		read:     make(map[string]bool),
	}
	if t.calls == 0 {
		t.calls = DefaultCalls
	}
	if t.left == 0 {
		t.left = DefaultTime
	}
	for _, s := range cfg.Read {
		t.read[s] = true
	}
	return t
}

// Exhausted says which limit ends tool use in this turn, or "".
func (t *Turn) Exhausted() string {
	switch {
	case t.calls <= 0:
		return "the limit of tool calls of this turn is reached"
	case t.left <= 0:
		return "the time for tools of this turn is used up"
	}
	return ""
}

// Read returns the servers whose results have been read in this turn so far.
func (t *Turn) Read() []string {
	names := make([]string, 0, len(t.read))
	for name := range t.read {
		names = append(names, name)
	}
	return names
}

// Lookup finds the tool of a call by its offered name, or by its own name where
// only one offered tool has it. Some models put a namespace before the name.
func (t *Turn) Lookup(name string) (schemas.Tool, bool) {
	for _, prefix := range []string{"default_api.", "default_api:"} {
		name = strings.TrimPrefix(name, prefix)
	}
	own, found := -1, 0
	for i := range t.tools {
		if t.tools[i].Name == name {
			return t.tools[i], true
		}
		if t.tools[i].ToolName == name {
			own, found = i, found+1
		}
	}
	if found == 1 {
		return t.tools[own], true
	}
	return schemas.Tool{}, false
}

// A Status says how a call ended.
type Status string

// The statuses of an [Outcome]. All but StatusOK carry a result with IsError set.
const (
	StatusOK         Status = "ok"
	StatusToolError  Status = "tool_error"
	StatusUnknown    Status = "unknown_tool"
	StatusInvalid    Status = "invalid_arguments"
	StatusUnapproved Status = "not_approved"
	StatusRefused    Status = "refused"
	StatusLimit      Status = "limit"
	StatusTimeout    Status = "timeout"
	StatusFailed     Status = "failed"
)

// An Outcome is what became of a call.
type Outcome struct {
	Call   schemas.ToolCall
	Tool   schemas.Tool
	Result schemas.ToolResult
	Status Status
	Took   time.Duration
}

// Execute runs the calls of one answer, as many at once as the handler allows, and
// yields their outcomes in call order, each as soon as it and those before it are
// there. Every call gets exactly one outcome. Breaking off cancels the calls that
// still run; Execute returns when all have ended.
func (t *Turn) Execute(ctx context.Context, calls []schemas.ToolCall) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()

		started := time.Now()
		round := t.openRound(calls)
		outcomes := make([]chan Outcome, len(calls))
		slots := make(chan struct{}, t.h.parallel)
		for i, call := range calls {
			outcomes[i] = make(chan Outcome, 1)
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				outcomes[i] <- round.run(ctx, i, call)
			})
		}
		defer func() { t.left -= max(0, time.Since(started)-round.waited()) }()
		for i := range calls {
			out := <-outcomes[i]
			if out.Status == StatusOK || out.Status == StatusToolError {
				t.read[out.Tool.Server] = true
			}
			if !yield(out) {
				return
			}
		}
	}
}

// failure makes the result that tells the model why a call gave nothing.
func failure(call schemas.ToolCall, tool schemas.Tool, status Status, format string, args ...any) Outcome {
	text, err := json.Marshal(fmt.Sprintf(format, args...))
	if err != nil { // a string always marshals
		text = []byte(`"error"`)
	}
	name := tool.ToolName
	if name == "" {
		name = call.Function.Name
	}
	return Outcome{
		Call:   call,
		Tool:   tool,
		Status: status,
		Result: schemas.ToolResult{ToolName: name, Output: text, ID: call.ID, Server: tool.Server, IsError: true},
	}
}

package tape

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"molar/agent"
	"molar/eval/match"
	"molar/eval/wire"
	"molar/schemas"
)

// A Seen is what happened in one turn, live, in a replay, or as a tape tells it.
type Seen struct {
	User      string
	Guardrail string // pass, refuse, or "" without one
	Calls     []SeenCall
	Answer    string
	// Answered says that the turn came to its end, with or without an error.
	Answered bool
	Sum      Sum
	// By is the provider that answered, and its model; a tape does not tell it.
	By string
	// At is where a tape tells it.
	At Lines
}

// Lines are places on a tape; 0 is none.
type Lines struct{ User, Guardrail, Answer int }

// A SeenCall is a call with its result.
type SeenCall struct {
	Call         schemas.ToolCall
	Server, Tool string
	Output       json.RawMessage
	IsError      bool
	Done         bool
	// Line and DoneLine are where a tape has call and result.
	Line, DoneLine int
}

// Event notes an event of a turn.
func (s *Seen) Event(e agent.Event, err error) {
	if err != nil {
		s.Sum.Error = err.Error()
		return
	}
	switch e.Kind {
	case agent.EventText:
		s.Answer += e.Text
	case agent.EventStep:
		if d := Decision(e); d != "" {
			s.Guardrail = d
		}
	case agent.EventToolCall:
		s.Calls = append(s.Calls, SeenCall{Call: *e.Call, Server: e.Server, Tool: e.ToolName})
	case agent.EventToolResult:
		if e.Result != nil && e.Call != nil {
			s.result(SeenCall{Call: *e.Call, Output: e.Result.Output, IsError: e.Result.IsError})
		}
	case agent.EventDone:
		s.Answered, s.Sum = true, *SumOf(e.Done, nil)
		s.By = strings.TrimSpace(e.Done.Provider + " " + e.Done.Model)
	}
}

// result puts a result to its call.
func (s *Seen) result(of SeenCall) {
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Call.ID == of.Call.ID && !c.Done {
			c.Output, c.IsError, c.Done, c.DoneLine = of.Output, of.IsError, true, of.DoneLine
			return
		}
	}
}

// A Step is one recorded model call.
type Step struct {
	Turn int
	Pass string

	seq int
}

// A Story is all that a tape tells without running anything.
type Story struct {
	Header Header
	Turns  []Seen
	// Steps are the model calls that ended, in the order in which they began.
	Steps []Step
	// Servers are those whose tools were listed.
	Servers map[string]*Server
	Torn    error

	calls map[int]Step    // that have not ended, by exchange
	lists map[string]bool // requests for a list of tools
}

// A Server is what a tape knows of the tools of one.
type Server struct {
	Tools map[string]wire.Tool
	// Readers are the tools that say that they only read.
	Readers map[string]bool
	// Line is the last line that lists tools.
	Line int
}

// Tell reads a tape and grades nothing. It holds no chunk.
func Tell(name string, r io.Reader) (*Story, error) {
	return TellEach(name, r, func(Entry) error { return nil })
}

// TellEach is [Tell], and gives each entry to f.
func TellEach(name string, r io.Reader, f func(Entry) error) (*Story, error) {
	s := &Story{Servers: make(map[string]*Server), calls: make(map[int]Step), lists: make(map[string]bool)}
	for e, err := range Read(name, r) {
		if errors.Is(err, ErrTorn) {
			s.Torn = err
			break
		}
		if err != nil {
			return nil, err
		}
		if err = s.take(e); err == nil {
			err = f(e)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, e.Line, err)
		}
	}
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.seq, b.seq) })
	return s, nil
}

func (s *Story) take(e Entry) error {
	switch e.Type {
	case TypeHeader:
		s.Header = *e.Header
	case TypeModelRequest:
		s.calls[e.Seq] = Step{Turn: e.Turn, Pass: e.ModelPass(), seq: e.Seq}
	case TypeModelEnd:
		step := s.calls[e.Seq]
		delete(s.calls, e.Seq)
		if step.Pass != PassProbe {
			s.Steps = append(s.Steps, step)
		}
	case TypeModelChunk:
	case TypeMCP:
		s.frame(e)
	default:
		return s.turn(e)
	}
	return nil
}

func (s *Story) turn(e Entry) error {
	if e.Turn < 1 || e.Turn > len(s.Turns)+1 {
		return fmt.Errorf("%s of turn %d, which has not begun", e.Type, e.Turn)
	}
	if e.Turn > len(s.Turns) {
		s.Turns = append(s.Turns, Seen{})
	}
	t := &s.Turns[e.Turn-1]
	switch e.Type {
	case TypeUser:
		t.User, t.At.User = e.Text, e.Line
	case TypeGuardrail:
		t.Guardrail, t.At.Guardrail = e.Decision, e.Line
	case TypeToolCall:
		if e.Call != nil {
			t.Calls = append(t.Calls, SeenCall{Call: *e.Call, Server: e.Server, Tool: e.Tool, Line: e.Line})
		}
	case TypeToolResult:
		if e.Call != nil {
			t.result(SeenCall{Call: *e.Call, Output: e.Content, IsError: e.IsError, DoneLine: e.Line})
		}
	case TypeAnswer:
		t.Answer, t.At.Answer = e.Text, e.Line
		if e.Done != nil {
			t.Answered, t.Sum = true, *e.Done
		}
	}
	return nil
}

// frame remembers the tools that servers list.
func (s *Story) frame(e Entry) {
	var f Frame
	if json.Unmarshal(e.Frame, &f) != nil {
		return
	}
	key := fmt.Sprintf("%s/%d", e.Server, f.ID)
	if e.Dir == ToServer {
		s.lists[key] = f.Method == MethodList
		return
	}
	if !s.lists[key] {
		return
	}
	to := s.Servers[e.Server]
	if to == nil {
		to = &Server{Tools: make(map[string]wire.Tool), Readers: make(map[string]bool)}
		s.Servers[e.Server] = to
	}
	to.Line = e.Line
	for _, t := range Listed(f.Result) {
		to.Tools[t.Name], to.Readers[t.Name] = t.Tool, t.Annotations.ReadOnly
	}
}

// A ListedTool is a tool as a tools/list tells it.
type ListedTool struct {
	wire.Tool
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
}

// Listed reads the result of a tools/list; one that cannot be read has no tools.
func Listed(result json.RawMessage) []ListedTool {
	var list struct {
		Tools []ListedTool `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return nil
	}
	return list.Tools
}

// Made are the calls in the form that package match compares.
func (s *Seen) Made() []match.Made {
	made := make([]match.Made, len(s.Calls))
	for i, c := range s.Calls {
		made[i] = match.Made{Name: c.Call.Function.Name, Tool: c.Tool, Server: c.Server, Arguments: c.Call.Function.Arguments, Done: c.Done}
		if v, err := match.Decode(c.Output); err == nil {
			made[i].Result = v
		}
	}
	return made
}

// ModelPass is the pass of a request. A look-up of models is a probe, whatever it was made
// in the middle of.
func (r *Record) ModelPass() string {
	if Lookup(r.Path) {
		return PassProbe
	}
	return r.Pass
}

// Lookup reports whether an address tells of models rather than asking one.
func Lookup(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.ContainsFunc([]string{"/api/show", "/api/tags", "/api/ps", "/api/version", "/models"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// Decision reads the guardrail's verdict out of a step: pass, refuse, or "".
func Decision(e agent.Event) string {
	switch {
	case e.Step != "2.1":
		return ""
	case e.Text == "Guardrail result: PASSED":
		return "pass"
	}
	return "refuse"
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

package tape

import (
	"encoding/json"
	"slices"
	"strings"

	"molar/agent/answer"
	"molar/eval/match"
	"molar/schemas"
)

// A Seen is what happened in one turn, live, in a replay, or as a tape tells it.
type Turn struct {
	User      string
	Guardrail string // pass, refuse, or "" without one
	Calls     []TurnCall
	Answer    string
	// Answered says that the turn came to its end, with or without an error.
	Answered bool
	Sum      Sum
	// Err is what the turn failed with; a tape has its text alone, in Sum.
	Err error
	// By is the provider that answered, and its model; a tape does not tell it.
	By string
	// At is where a tape tells it.
	At Lines
}

// Lines are places on a tape; 0 is none.
type Lines struct{ User, Guardrail, Answer int }

// A SeenCall is a call with its result.
type TurnCall struct {
	Call         schemas.ToolCall
	Server, Tool string
	Output       json.RawMessage
	IsError      bool
	Done         bool
	// Line and DoneLine are where a tape has call and result.
	Line, DoneLine int
}

// Event notes an event of a turn.
func (s *Turn) Event(e answer.Event, err error) {
	if err != nil {
		s.Err, s.Sum.Error = err, err.Error()
		return
	}
	switch e.Kind {
	case answer.KindText:
		s.Answer += e.Text
	case answer.KindStep:
		if d := decision(e); d != "" {
			s.Guardrail = d
		}
	case answer.KindToolCall:
		s.Calls = append(s.Calls, TurnCall{Call: *e.Call, Server: e.Server, Tool: e.ToolName})
	case answer.KindToolResult:
		if e.Result != nil && e.Call != nil {
			s.result(TurnCall{Call: *e.Call, Output: e.Result.Output, IsError: e.Result.IsError})
		}
	case answer.KindDone:
		s.Answered, s.Sum = true, sumOf(e.Done)
		s.By = strings.TrimSpace(e.Done.Provider + " " + e.Done.Model)
	}
}

// result puts a result to its call.
func (s *Turn) result(of TurnCall) {
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Call.ID == of.Call.ID && !c.Done {
			c.Output, c.IsError, c.Done, c.DoneLine = of.Output, of.IsError, true, of.DoneLine
			return
		}
	}
}

// Made are the calls in the form that package match compares.
func (s *Turn) MatchCalls() []match.Call {
	made := make([]match.Call, len(s.Calls))
	for i, c := range s.Calls {
		made[i] = match.Call{Name: c.Call.Function.Name, Tool: c.Tool, Server: c.Server, Arguments: c.Call.Function.Arguments, Done: c.Done}
		if v, err := match.Decode(c.Output); err == nil {
			made[i].Result = v
		}
	}
	return made
}

// A Step is one recorded model call.
type Step struct {
	Turn int
	Pass string

	seq int
}

// A Server is what a tape knows of the tools of one.
type Server struct {
	Tools map[string]Tool
	// Line is the last line that lists tools.
	Line int
}

// ModelPass is the pass of a request. A look-up of models is a probe, whatever it was made
// in the middle of.
func (r *Record) ModelPass() string {
	if lookup(r.Path) {
		return passProbe
	}
	return r.Pass
}

// lookup reports whether an address is that of a list of models rather than of a call.
func lookup(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.ContainsFunc([]string{"/api/show", "/api/tags", "/api/ps", "/api/version", "/models"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// decision reads the guardrail's verdict out of a step: pass, refuse, or "".
func decision(e answer.Event) string {
	switch {
	case e.Step != "2.1":
		return ""
	case e.Text == "Guardrail result: PASSED":
		return "pass"
	}
	return "refuse"
}

// sumOf sums a turn up by its last event.
func sumOf(d *answer.Done) Sum {
	return Sum{
		Finish: string(d.Finish), Refused: d.Refused, ModelCalls: d.ModelCalls, ToolCalls: d.ToolCalls,
		Language: d.Language, Usage: d.Usage, Unapproved: d.Unapproved, Sources: d.Sources,
	}
}

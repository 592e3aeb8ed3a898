package tape

import (
	"encoding/json"
	"slices"
	"strings"

	"molar/agent/answer"
	"molar/eval/match"
	"molar/schemas"
)

// A Turn is what happened in one turn: live, in a replay, or on a tape.
type Turn struct {
	User, Assistant string
	Guardrail       string // pass, refuse, or "" without a verdict
	Calls           []TurnCall
	Answer          string
	// Answered reports whether the turn ended, with or without an error.
	Answered bool
	Sum      Sum
	// Err is the error of the turn; a tape has only its text, in Sum.
	Err error
	// By is the provider and model that answered; a tape does not have it.
	By string
	// At holds the lines on the tape.
	At Lines

	verdicts, results int // how many there were
}

// Lines are line numbers on a tape; 0 means none.
type Lines struct{ User, Guardrail, Answer int }

// A TurnCall is a call with its result.
type TurnCall struct {
	Call         schemas.ToolCall
	Server, Tool string
	Output       json.RawMessage
	IsError      bool
	Done         bool
	// Line and DoneLine are the lines of call and result on the tape.
	Line, DoneLine int
}

// Event adds an event of the turn.
func (s *Turn) Event(e answer.Event, err error) {
	if err != nil {
		s.Err, s.Sum.Error = err, err.Error()
		return
	}
	if e.Start != nil {
		s.Assistant = e.Start.Assistant
	}
	switch e.Kind {
	case answer.KindText:
		s.Answer += e.Text
	case answer.KindStep:
		if d := decision(e); d != "" {
			s.Guardrail = d
			s.verdicts++
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

// result adds a result to its call.
func (s *Turn) result(of TurnCall) {
	s.results++
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Call.ID == of.Call.ID && !c.Done {
			c.Output, c.IsError, c.Done, c.DoneLine = of.Output, of.IsError, true, of.DoneLine
			return
		}
	}
}

// Found reports whether a call succeeded with a result that is not empty.
func (s *Turn) Found() bool {
	reads := true
	return slices.ContainsFunc(s.Calls, func(c TurnCall) bool {
		return c.Done && !c.IsError && !schemas.ToolResult{Output: c.Output}.FoundNothing(schemas.ToolAnnotations{ReadOnlyHint: &reads})
	})
}

// MatchCalls returns the calls in the form that package match compares.
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

// A Server holds the listed tools of a server.
type Server struct {
	Tools map[string]Tool
	// Line is the last line of the tape that lists tools.
	Line int
}

// modelPass returns the pass of a request. A look-up of models is always a probe.
func (r *Record) modelPass() string {
	if lookup(r.Path) {
		return passProbe
	}
	return r.Pass
}

// lookup reports whether a path is that of model metadata rather than of a call.
func lookup(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.ContainsFunc([]string{"/api/show", "/api/tags", "/api/ps", "/api/version", "/models"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// decision returns the guardrail's verdict in an event: pass, refuse, or "".
func decision(e answer.Event) string {
	switch {
	case e.Step != "2.1":
		return ""
	case e.Text == "Guardrail result: PASSED":
		return "pass"
	}
	return "refuse"
}

// sumOf converts the last event of a turn to its summary.
func sumOf(d *answer.Done) Sum {
	return Sum{
		Finish: string(d.Finish), Refused: d.Refused, ModelCalls: d.ModelCalls, ToolCalls: d.ToolCalls,
		Language: d.Language, Usage: d.Usage, Unapproved: d.Unapproved, Sources: d.Sources,
	}
}

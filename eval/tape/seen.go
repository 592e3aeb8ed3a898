package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"molar/agent"
	"molar/eval/match"
	"molar/providers"
	"molar/schemas"
)

// A Seen is what happened in one turn, live, in a replay, or as a tape tells it.
type Seen struct {
	User      string
	Guardrail string // pass, refuse, or "" without one
	Calls     []SeenCall
	Answer    string
	Sum       Sum
}

// A SeenCall is a call with its result.
type SeenCall struct {
	Call         schemas.ToolCall
	Server, Tool string
	Output       json.RawMessage
	IsError      bool
	Done         bool
	TookMS       float64
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
		if d := decision(e); d != "" {
			s.Guardrail = d
		}
	case agent.EventToolCall:
		s.Calls = append(s.Calls, SeenCall{Call: *e.Call, Server: e.Server, Tool: e.ToolName})
	case agent.EventToolResult:
		if e.Result != nil && e.Call != nil {
			s.result(e.Call.ID, e.Result.Output, e.Result.IsError, 0)
		}
	case agent.EventDone:
		s.Sum = *SumOf(e.Done, nil)
	}
}

func (s *Seen) result(id string, output json.RawMessage, isError bool, took float64) {
	for i := range s.Calls {
		if s.Calls[i].Call.ID == id && !s.Calls[i].Done {
			s.Calls[i].Output, s.Calls[i].IsError, s.Calls[i].Done, s.Calls[i].TookMS = output, isError, true, took
			return
		}
	}
}

// A Step is one recorded model call.
type Step struct {
	Turn    int
	Pass    string
	FirstMS float64
	TookMS  float64
}

// A Story is all that a tape tells without running anything.
type Story struct {
	Header  Header
	Turns   []Seen
	Steps   []Step
	Schemas map[string]json.RawMessage // by "server__tool" and by the tool's own name
	Torn    error
}

// Tell reads a tape and grades nothing. It holds one turn's texts, and no chunk.
func Tell(name string, r io.Reader) (*Story, error) {
	s := &Story{Schemas: make(map[string]json.RawMessage)}
	passes := make(map[int]Step)
	lists := make(map[string]bool)
	for e, err := range Read(name, r) {
		if errors.Is(err, ErrTorn) {
			s.Torn = err
			break
		}
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case TypeHeader:
			s.Header = *e.Header
		case TypeModelRequest:
			passes[e.Seq] = Step{Turn: e.Turn, Pass: e.Pass}
			if lookup(e.Path) {
				passes[e.Seq] = Step{Turn: e.Turn, Pass: PassProbe}
			}
		case TypeModelEnd:
			step := passes[e.Seq]
			delete(passes, e.Seq)
			step.FirstMS, step.TookMS = e.FirstMS, e.TookMS
			if step.Pass != PassProbe {
				s.Steps = append(s.Steps, step)
			}
		case TypeMCP:
			s.frame(e.Record, lists)
		default:
			if err := s.turn(e.Record); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, e.Line, err)
			}
		}
	}
	return s, nil
}

func (s *Story) turn(r Record) error {
	if r.Type == TypeModelChunk {
		return nil
	}
	if r.Turn < 1 || r.Turn > len(s.Turns)+1 {
		return fmt.Errorf("%s of turn %d, which has not begun", r.Type, r.Turn)
	}
	if r.Turn > len(s.Turns) {
		s.Turns = append(s.Turns, Seen{})
	}
	t := &s.Turns[r.Turn-1]
	switch r.Type {
	case TypeUser:
		t.User = r.Text
	case TypeGuardrail:
		t.Guardrail = r.Decision
	case TypeToolCall:
		if r.Call != nil {
			t.Calls = append(t.Calls, SeenCall{Call: *r.Call, Server: r.Server, Tool: r.Tool})
		}
	case TypeToolResult:
		if r.Call != nil {
			t.result(r.Call.ID, r.Content, r.IsError, r.TookMS)
		}
	case TypeAnswer:
		t.Answer = r.Text
		if r.Done != nil {
			t.Sum = *r.Done
		}
	}
	return nil
}

// frame remembers the schemas of listed tools.
func (s *Story) frame(r Record, lists map[string]bool) {
	var f frame
	if json.Unmarshal(r.Frame, &f) != nil {
		return
	}
	key := fmt.Sprintf("%s/%d", r.Server, f.ID)
	if r.Dir == toServer {
		if f.Method == methodList {
			lists[key] = true
		}
		return
	}
	if lists[key] {
		keepSchemas(s.Schemas, r.Server, f.Result)
	}
}

func keepSchemas(to map[string]json.RawMessage, server string, result json.RawMessage) {
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return
	}
	for _, t := range list.Tools {
		to[server+"__"+t.Name] = t.InputSchema
		to[t.Name] = t.InputSchema
	}
}

// Schemas are the input schemas of the tools on the tape, by "server__tool" and by the
// tool's own name.
func (p *Player) Schemas() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	for server, frames := range p.x.frames {
		for _, f := range frames {
			if f.method != methodList {
				continue
			}
			rec, err := p.x.load(f.answer)
			var message frame
			if err == nil && json.Unmarshal(rec.Frame, &message) == nil {
				keepSchemas(all, server, message.Result)
			}
		}
	}
	return all
}

// Servers are the names of the servers on the tape.
func (p *Player) Servers() []string {
	names := make([]string, 0, len(p.x.frames))
	for name := range p.x.frames {
		names = append(names, name)
	}
	return names
}

// Steps are the recorded model calls, in their order.
func (p *Player) Steps() []Step {
	var steps []Step
	for _, x := range p.x.models {
		if x.pass != PassProbe && x.ended {
			steps = append(steps, Step{Turn: x.turn, Pass: x.pass, FirstMS: x.firstMS, TookMS: x.tookMS})
		}
	}
	return steps
}

// Summarises reports whether a summary followed the last turn, so that a replay makes
// it too.
func (p *Player) Summarises() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.x.models, func(x *taped) bool {
		return x.pass == string(providers.PassSummary) && !x.used && (x.turn == p.turn || x.turn == 0)
	})
}

// ToolTimes are the recorded durations of the tool calls of a turn, in milliseconds.
func (p *Player) ToolTimes(turn int) []float64 {
	if turn < 1 || turn > len(p.x.turns) {
		return nil
	}
	var times []float64
	for _, at := range p.x.turns[turn-1].results {
		if rec, err := p.x.load(at); err == nil {
			times = append(times, rec.TookMS)
		}
	}
	return times
}

// Made are the calls in the form that package match compares.
func (s *Seen) Made(schemas map[string]json.RawMessage) []match.Made {
	made := make([]match.Made, len(s.Calls))
	for i, c := range s.Calls {
		made[i] = match.Made{Name: c.Call.Function.Name, Tool: c.Tool, Server: c.Server, Arguments: c.Call.Function.Arguments, Done: c.Done}
		made[i].Schema = schemas[c.Server+"__"+c.Tool]
		if made[i].Schema == nil {
			made[i].Schema = schemas[c.Call.Function.Name]
		}
		if v, err := match.Decode(c.Output); err == nil {
			made[i].Result = v
		}
	}
	return made
}

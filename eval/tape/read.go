package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// A Tape is the content of a tape file.
type Tape struct {
	Name    string
	Header  Header
	Records []Record // without the header
	Turns   []Turn
	// Steps are the finished model calls, in the order in which they began.
	Steps []Step
	// Servers are the servers whose tools were listed.
	Servers map[string]*Server
	// Torn is set if the last line is incomplete. All lines before it were read.
	Torn error
}

// IsEmpty reports whether nothing was recorded, so that only real services can answer.
func (t *Tape) IsEmpty() bool { return len(t.Records) == 0 }

// Read reads a tape; name is its file, for messages. A malformed line, a missing header, a newer
// version or a repeated exchange is an error that names file and line.
func Read(name string, data []byte) (*Tape, error) {
	t := &Tape{Name: name, Servers: make(map[string]*Server)}
	in := reader{t: t, exchanges: make(map[int]*exchangeState), asked: make(map[int]bool), answered: make(map[int]bool), lists: make(map[string]bool)}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // the byte order mark
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		line, whole := bytes.CutSuffix(raw, []byte("\n"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r := Record{Line: n}
		if err := decodeRecord(line, &r); err != nil {
			if !whole && n > 1 {
				t.Torn = fmt.Errorf("%s:%d: the last line is torn: %d bytes are left out", name, n, len(line))
				break
			}
			return t, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err := in.take(r); err != nil {
			return t, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if !in.begun {
		return t, fmt.Errorf("%s:1: the tape is empty: it has no header", name)
	}
	slices.SortStableFunc(t.Steps, func(a, b Step) int { return a.seq - b.seq })
	return t, nil
}

func decodeRecord(raw []byte, to *Record) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return fmt.Errorf("no record: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("no record: data after the object")
	}
	return nil
}

// A reader holds the state that is validated across lines.
type reader struct {
	t               *Tape
	begun           bool
	exchanges       map[int]*exchangeState
	asked, answered map[int]bool    // by turn; records of parallel turns are interleaved
	lists           map[string]bool // the requests that list tools
}

// An exchangeState is the state of a model call while the tape is read.
type exchangeState struct {
	step   Step
	tools  json.RawMessage
	chunks int
	ended  bool
}

// take validates a record and adds it.
func (in *reader) take(r Record) (err error) {
	switch first := !in.begun; {
	case first && (r.Type != TypeHeader || r.Header == nil):
		return errors.New("the first line is not a header: this is not a tape")
	case first && r.Header.V > version:
		return fmt.Errorf("the tape has version %d, this program reads up to %d: use a newer molar", r.Header.V, version)
	case first && r.Header.V < 1:
		return errors.New("the header has no version")
	case first:
		in.begun, in.t.Header = true, *r.Header
		return nil
	}
	switch r.Type {
	case TypeHeader:
		return errors.New("a second header: one file holds one tape")
	case TypeModelRequest, TypeModelChunk, TypeModelEnd:
		err = in.exchange(&r)
	case TypeMCP:
		in.frame(&r)
	case TypeUser, TypeGuardrail, TypeToolCall, TypeToolResult, TypeAnswer:
		err = in.turn(&r)
	default:
		err = fmt.Errorf("unknown type of record %q", r.Type)
	}
	if err == nil {
		in.t.Records = append(in.t.Records, r)
	}
	return err
}

// exchange validates the records of a model call: each once, and in order.
func (in *reader) exchange(r *Record) error {
	p := in.exchanges[r.Seq]
	switch {
	case r.Type == TypeModelRequest && p != nil:
		return fmt.Errorf("exchange %d begins twice", r.Seq)
	case r.Type == TypeModelRequest:
		p = &exchangeState{step: Step{Turn: r.Turn, Pass: r.ModelPass(), seq: r.Seq}}
		in.exchanges[r.Seq] = p
		return in.offered(r, p)
	case p == nil:
		return fmt.Errorf("%s of exchange %d, which has not begun", r.Type, r.Seq)
	case p.ended:
		return fmt.Errorf("%s of exchange %d, which has ended", r.Type, r.Seq)
	case r.Type == TypeModelChunk:
		if p.chunks++; r.N != 0 && r.N != p.chunks {
			return fmt.Errorf("chunk %d of exchange %d stands where chunk %d should", r.N, r.Seq, p.chunks)
		}
	default:
		if p.ended = true; r.N != 0 && r.N != p.chunks {
			return fmt.Errorf("exchange %d has %d chunks, and ends after %d", r.Seq, p.chunks, r.N)
		}
		if p.step.Pass != passProbe {
			in.t.Steps = append(in.t.Steps, p.step)
		}
	}
	return nil
}

// offered restores the tools of a request that names the exchange with the same tools, see
// [Writer.shorten].
func (in *reader) offered(r *Record, p *exchangeState) error {
	before, rest, named := bytes.Cut(r.Body, []byte(`"tools":{"as_in_exchange":`))
	if !named {
		p.tools = toolsOf(r.Body)
		return nil
	}
	number, after, _ := bytes.Cut(rest, []byte("}"))
	seq, err := strconv.Atoi(string(number))
	if err != nil || in.exchanges[seq] == nil || in.exchanges[seq].tools == nil {
		return fmt.Errorf("there is no exchange %s with tools, which exchange %d names", number, r.Seq)
	}
	r.Body = slices.Concat(before, json.RawMessage(`"tools":`), in.exchanges[seq].tools, after)
	return nil
}

// toolsOf returns the tools in the body of a request, byte for byte; nil if there are none.
func toolsOf(body json.RawMessage) json.RawMessage {
	var members struct {
		Tools json.RawMessage `json:"tools"`
	}
	if !bytes.Contains(body, []byte(`"tools":[{`)) || json.Unmarshal(body, &members) != nil {
		return nil
	}
	return members.Tools
}

// turn adds a record of a turn.
func (in *reader) turn(r *Record) error {
	turns := &in.t.Turns
	switch {
	case r.Type == TypeUser && in.asked[r.Turn]:
		return fmt.Errorf("turn %d begins twice", r.Turn)
	case r.Type == TypeAnswer && in.answered[r.Turn]:
		return fmt.Errorf("turn %d is answered twice", r.Turn)
	case r.Turn < 1 || r.Turn > len(*turns)+1:
		return fmt.Errorf("%s of turn %d, which has not begun", r.Type, r.Turn)
	case r.Turn > len(*turns):
		*turns = append(*turns, Turn{})
	}
	t := &(*turns)[r.Turn-1]
	switch r.Type {
	case TypeUser:
		in.asked[r.Turn] = true
		t.User, t.At.User = r.Text, r.Line
	case TypeGuardrail:
		t.Guardrail, t.At.Guardrail = r.Decision, r.Line
	case TypeToolCall:
		if r.Call != nil {
			t.Calls = append(t.Calls, TurnCall{Call: *r.Call, Server: r.Server, Tool: r.Tool, Line: r.Line})
		}
	case TypeToolResult:
		if r.Call != nil {
			t.result(TurnCall{Call: *r.Call, Output: r.Content, IsError: r.IsError, DoneLine: r.Line})
		}
	case TypeAnswer:
		in.answered[r.Turn] = true
		t.Answer, t.At.Answer = r.Text, r.Line
		if r.Done != nil {
			t.Answered, t.Sum = true, *r.Done
		}
	}
	return nil
}

// frame stores the tools that servers list.
func (in *reader) frame(r *Record) {
	var f rpcFrame
	if json.Unmarshal(r.Frame, &f) != nil {
		return
	}
	key := fmt.Sprintf("%s/%d", r.Server, f.ID)
	if r.Dir == toServer {
		in.lists[key] = f.Method == MethodList
		return
	}
	if !in.lists[key] {
		return
	}
	to := in.t.Servers[r.Server]
	if to == nil {
		to = &Server{Tools: make(map[string]Tool)}
		in.t.Servers[r.Server] = to
	}
	to.Line = r.Line
	for _, t := range listed(f.Result) {
		to.Tools[t.Name] = t
	}
}

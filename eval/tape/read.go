package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Tape is the content of a tape file.
type Tape struct {
	Name    string
	Header  Header
	Records []*Record // without the header
	Turns   []Turn
	// Servers are the servers whose tools were listed.
	Servers map[string]*Server
	// Judgements are the verdicts of judges on answers.
	Judgements []Judgement
	// Torn is set if the last line is incomplete. All lines before it were read.
	Torn error

	exchanges map[int]*exchange // by Seq
	frames    []*frames         // in the order of the requests
}

// An exchange is a model call on a tape.
type exchange struct {
	request *Record
	pass    string
	chunks  []*Record
	end     *Record // nil if the recording ended early
}

// frames are a request to a server and its answer.
type frames struct {
	request, answer *Record // answer is nil if the recording ended early
	asked, said     rpcFrame
	key             string // the canonical params
}

// Calls returns the number of finished model calls.
func (t *Tape) Calls() int {
	n := 0
	for _, x := range t.exchanges {
		if x.pass != passProbe && x.end != nil {
			n++
		}
	}
	return n
}

// IsEmpty reports whether nothing was recorded, so that only real services can answer.
func (t *Tape) IsEmpty() bool { return len(t.Records) == 0 }

// Read reads a tape; name is its file, for messages. A malformed line, a missing header, a newer
// version, a repeated exchange or an answer without a request is an error that names file and line.
func Read(name string, data []byte) (*Tape, error) {
	t := &Tape{Name: name, Servers: make(map[string]*Server), exchanges: make(map[int]*exchange)}
	in := reader{t: t, asked: make(map[int]bool), answered: make(map[int]bool), frames: make(map[string]*frames)}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // the byte order mark
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		line, whole := bytes.CutSuffix(raw, []byte("\n"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r := &Record{Line: n}
		if err := decodeRecord(line, r); err != nil {
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
	bodies          folder
	asked, answered map[int]bool       // by turn; records of parallel turns are interleaved
	frames          map[string]*frames // by server and id
}

// take validates a record and adds it.
func (in *reader) take(r *Record) (err error) {
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
	if err := in.complete(r); err != nil {
		return err
	}
	switch r.Type {
	case TypeHeader:
		return errors.New("a second header: one file holds one tape")
	case TypeModelRequest, TypeModelChunk, TypeModelEnd:
		err = in.exchange(r)
	case TypeMCP:
		err = in.frame(r)
	case TypeUser, TypeGuardrail, TypeToolCall, TypeToolResult, TypeAnswer:
		err = in.turn(r)
	case TypeJudge:
		err = in.judgement(r)
	default:
		err = fmt.Errorf("unknown type of record %q", r.Type)
	}
	if err == nil {
		in.t.Records = append(in.t.Records, r)
	}
	return err
}

// complete reports what a record lacks that a recording has since version 3.
func (in *reader) complete(r *Record) error {
	var f rpcFrame
	outside := r.Type == TypeModelEnd || r.Type == TypeMCP && r.Dir == fromServer
	switch {
	case in.t.Header.V < 3 && r.Type == TypeModelEnd && r.Sha != "":
		return fmt.Errorf("%s with a hash, on a tape of version %d: it is of a newer version", r.Type, in.t.Header.V)
	case in.t.Header.V < 3:
	case outside && r.Sha == "":
		return fmt.Errorf("%s without the hash of what it holds", r.Type)
	case r.Type == TypeModelRequest && r.Pass == "" && !r.Unkeyed:
		return errors.New("a model request without its pass")
	case r.Type == TypeMCP && r.Dir != toServer && r.Dir != fromServer:
		return fmt.Errorf("a frame in the direction %q", r.Dir)
	case r.Type == TypeMCP && json.Unmarshal(r.Frame, &f) == nil && f.JSONRPC != "2.0":
		return errors.New("a frame that is not of JSON-RPC 2.0")
	case r.Type == TypeToolResult && r.Call != nil && r.Turn >= 1 && r.Turn <= len(in.t.Turns):
		for _, c := range in.t.Turns[r.Turn-1].Calls {
			if c.Call.ID == r.Call.ID && (c.Call.Function != r.Call.Function || c.Server != r.Server || c.Tool != r.Tool) {
				return fmt.Errorf("the result of %q, whose call is another one", r.Call.ID)
			}
		}
	}
	return nil
}

// exchange validates the records of a model call: each once, and in order.
func (in *reader) exchange(r *Record) (err error) {
	x := in.t.exchanges[r.Seq]
	switch {
	case r.Type == TypeModelRequest && x != nil:
		return fmt.Errorf("exchange %d begins twice", r.Seq)
	case r.Type == TypeModelRequest:
		in.t.exchanges[r.Seq] = &exchange{request: r, pass: r.modelPass()}
		r.Body, err = in.bodies.unfold(r.Seq, r.Body)
		return err
	case x == nil:
		return fmt.Errorf("%s of exchange %d, which has not begun", r.Type, r.Seq)
	case x.end != nil:
		return fmt.Errorf("%s of exchange %d, which has ended", r.Type, r.Seq)
	case r.Type == TypeModelChunk:
		if x.chunks = append(x.chunks, r); r.N != 0 && r.N != len(x.chunks) {
			return fmt.Errorf("chunk %d of exchange %d stands where chunk %d should", r.N, r.Seq, len(x.chunks))
		}
	default:
		if x.end = r; r.N != 0 && r.N != len(x.chunks) {
			return fmt.Errorf("exchange %d has %d chunks, and ends after %d", r.Seq, len(x.chunks), r.N)
		}
	}
	return nil
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
		t.User, t.Assistant, t.At.User = r.Text, r.Assistant, r.Line
	case TypeGuardrail:
		t.Guardrail, t.At.Guardrail = r.Decision, r.Line
		t.verdicts++
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

// frame pairs the frames of a server, and stores the tools that it lists.
func (in *reader) frame(r *Record) error {
	var f rpcFrame
	if err := json.Unmarshal(r.Frame, &f); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	key := fmt.Sprintf("%s/%d", r.Server, f.ID)
	known := in.frames[key]
	switch {
	case r.Dir == toServer && known != nil:
		return fmt.Errorf("request %d of server %q begins twice", f.ID, r.Server)
	case r.Dir == toServer:
		in.frames[key] = &frames{request: r, asked: f, key: canonicalParams(f.Params)}
		in.t.frames = append(in.t.frames, in.frames[key])
		return nil
	case known == nil:
		return fmt.Errorf("an answer of server %q to request %d, which was not made", r.Server, f.ID)
	case known.answer != nil:
		return fmt.Errorf("request %d of server %q is answered twice", f.ID, r.Server)
	}
	if known.request.Turn != r.Turn && in.t.Header.V >= 3 {
		return fmt.Errorf("an answer of server %q in turn %d to a request of turn %d", r.Server, r.Turn, known.request.Turn)
	}
	known.answer, known.said = r, f
	if known.asked.Method != MethodList {
		return nil
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
	return nil
}

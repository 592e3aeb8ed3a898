package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A span is the place of a record in the file.
type span struct {
	offset     int64
	size, line int
}

// taped is one model exchange of the tape, without its bytes.
type taped struct {
	seq, turn int
	pass      string
	method    string
	path      string
	unkeyed   bool
	ended     bool
	request   span
	chunks    []span
	end       span
	firstMS   float64
	tookMS    float64
	used      bool
}

// tapedFrame is one MCP request of the tape.
type tapedFrame struct {
	turn    int
	slot    int
	method  string
	key     string // hash of the canonical params
	request span
	answer  span
	used    bool
}

// tapedTurn is what a turn left besides its exchanges.
type tapedTurn struct {
	user      span
	guardrail []span
	calls     []span
	results   []span
	answer    span
}

// An index finds the parts of a tape; the bytes stay in the file.
type index struct {
	name   string
	file   io.ReaderAt
	header Header
	models []*taped
	frames map[string][]*tapedFrame // by server
	turns  []*tapedTurn             // by turn, from 1
	torn   error
}

// readIndex reads a tape once.
func readIndex(name string, file io.ReaderAt, size int64) (*index, error) {
	x := &index{name: name, file: file, frames: make(map[string][]*tapedFrame)}
	bySeq := make(map[int]*taped)
	byID := make(map[string]*tapedFrame)
	for e, err := range Read(name, io.NewSectionReader(file, 0, size)) {
		if errors.Is(err, ErrTorn) {
			x.torn = err
			break
		}
		if err != nil {
			return nil, err
		}
		if err := x.add(e, bySeq, byID); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, e.Line, err)
		}
	}
	return x, nil
}

func (x *index) add(e Entry, bySeq map[int]*taped, byID map[string]*tapedFrame) error {
	at := span{offset: e.Offset, size: e.Size, line: e.Line}
	switch e.Type {
	case TypeHeader:
		x.header = *e.Header
	case TypeModelRequest:
		t := &taped{seq: e.Seq, turn: e.Turn, pass: e.Pass, method: e.Method, path: e.Path, unkeyed: e.Unkeyed, request: at}
		if lookup(t.path) {
			t.pass = PassProbe
		}
		bySeq[e.Seq] = t
		x.models = append(x.models, t)
	case TypeModelChunk:
		bySeq[e.Seq].chunks = append(bySeq[e.Seq].chunks, at)
	case TypeModelEnd:
		t := bySeq[e.Seq]
		t.end, t.ended, t.firstMS, t.tookMS = at, true, e.FirstMS, e.TookMS
	case TypeMCP:
		return x.addFrame(e, at, byID)
	}
	return x.addToTurn(e, at)
}

func (x *index) addToTurn(e Entry, at span) error {
	if e.Type != TypeUser && e.Type != TypeGuardrail && e.Type != TypeToolCall && e.Type != TypeToolResult && e.Type != TypeAnswer {
		return nil
	}
	if e.Turn < 1 || e.Turn > len(x.turns)+1 {
		return fmt.Errorf("%s of turn %d, which has not begun", e.Type, e.Turn)
	}
	if e.Turn > len(x.turns) {
		x.turns = append(x.turns, &tapedTurn{})
	}
	t := x.turns[e.Turn-1]
	switch e.Type {
	case TypeUser:
		t.user = at
	case TypeGuardrail:
		t.guardrail = append(t.guardrail, at)
	case TypeToolCall:
		t.calls = append(t.calls, at)
	case TypeToolResult:
		t.results = append(t.results, at)
	case TypeAnswer:
		t.answer = at
	}
	return nil
}

func (x *index) addFrame(e Entry, at span, byID map[string]*tapedFrame) error {
	var f frame
	if err := json.Unmarshal(e.Frame, &f); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	id := fmt.Sprintf("%s/%d", e.Server, f.ID)
	if e.Dir == toServer {
		if _, twice := byID[id]; twice {
			return fmt.Errorf("request %d of server %q begins twice", f.ID, e.Server)
		}
		t := &tapedFrame{turn: e.Turn, slot: e.Slot, method: f.Method, key: sha(canonicalParams(f.Params)), request: at}
		byID[id] = t
		x.frames[e.Server] = append(x.frames[e.Server], t)
		return nil
	}
	if t := byID[id]; t != nil {
		if t.answer.line != 0 {
			return fmt.Errorf("request %d of server %q is answered twice", f.ID, e.Server)
		}
		t.answer = at
	}
	return nil
}

// load reads a record again.
func (x *index) load(at span) (Record, error) {
	var r Record
	if at.line == 0 {
		return r, fmt.Errorf("%s: a record is missing: the recording broke off", x.name)
	}
	raw := make([]byte, at.size)
	if _, err := x.file.ReadAt(raw, at.offset); err != nil {
		return r, fmt.Errorf("%s:%d: %w", x.name, at.line, err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("%s:%d: %w", x.name, at.line, err)
	}
	return r, nil
}

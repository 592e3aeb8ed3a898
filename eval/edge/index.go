package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"molar/eval/drift"
	"molar/eval/tape"
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

// An index finds the parts of a tape; the bytes of exchanges and frames stay in the file.
type index struct {
	name   string
	file   io.ReaderAt
	story  *tape.Story
	models []*taped
	frames map[string][]*tapedFrame // by server

	bySeq map[int]*taped
	byID  map[string]*tapedFrame
}

// readIndex reads a tape once.
func readIndex(name string, file io.ReaderAt, size int64) (*index, error) {
	x := &index{
		name: name, file: file, frames: make(map[string][]*tapedFrame),
		bySeq: make(map[int]*taped), byID: make(map[string]*tapedFrame),
	}
	var err error
	x.story, err = tape.TellEach(name, io.NewSectionReader(file, 0, size), x.add)
	return x, err
}

// offers reports whether a tool of the server was offered.
func (x *index) offers(server string) bool {
	return slices.ContainsFunc(x.models, func(m *taped) bool {
		rec, err := x.load(m.request)
		return err == nil && bytes.Contains(rec.Body, []byte(`"`+server+"__"))
	})
}

func (x *index) add(e tape.Entry) error {
	at := span{offset: e.Offset, size: e.Size, line: e.Line}
	switch e.Type {
	case tape.TypeModelRequest:
		t := &taped{seq: e.Seq, turn: e.Turn, pass: e.ModelPass(), method: e.Method, path: e.Path, unkeyed: e.Unkeyed, request: at}
		x.bySeq[e.Seq] = t
		x.models = append(x.models, t)
	case tape.TypeModelChunk:
		x.bySeq[e.Seq].chunks = append(x.bySeq[e.Seq].chunks, at)
	case tape.TypeModelEnd:
		x.bySeq[e.Seq].end, x.bySeq[e.Seq].ended = at, true
	case tape.TypeMCP:
		return x.addFrame(e, at)
	}
	return nil
}

func (x *index) addFrame(e tape.Entry, at span) error {
	var f tape.Frame
	if err := json.Unmarshal(e.Frame, &f); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	id := fmt.Sprintf("%s/%d", e.Server, f.ID)
	if e.Dir == tape.ToServer {
		if _, twice := x.byID[id]; twice {
			return fmt.Errorf("request %d of server %q begins twice", f.ID, e.Server)
		}
		t := &tapedFrame{turn: e.Turn, slot: e.Slot, method: f.Method, key: drift.Sha(drift.Params(f.Params)), request: at}
		x.byID[id] = t
		x.frames[e.Server] = append(x.frames[e.Server], t)
		return nil
	}
	if t := x.byID[id]; t != nil {
		if t.answer.line != 0 {
			return fmt.Errorf("request %d of server %q is answered twice", f.ID, e.Server)
		}
		t.answer = at
	}
	return nil
}

// load reads a record again, a request with all its tools.
func (x *index) load(at span) (tape.Record, error) {
	r, err := x.read(at)
	if err == nil && r.Type == tape.TypeModelRequest {
		err = r.Whole(x.request)
	}
	if err != nil {
		return r, fmt.Errorf("%s:%d: %w", x.name, at.line, err)
	}
	return r, nil
}

func (x *index) read(at span) (tape.Record, error) {
	var r tape.Record
	if at.line == 0 {
		return r, errors.New("a record is missing: the recording broke off")
	}
	raw := make([]byte, at.size)
	if _, err := x.file.ReadAt(raw, at.offset); err != nil {
		return r, err
	}
	return r, json.Unmarshal(raw, &r)
}

// request reads the request of an exchange again.
func (x *index) request(seq int) (tape.Record, error) {
	t := x.bySeq[seq]
	if t == nil {
		return tape.Record{}, fmt.Errorf("there is no exchange %d, whose tools are named", seq)
	}
	return x.read(t.request)
}

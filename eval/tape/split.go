package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"molar/providers"
)

// A Part is the part of a tape that is of one conversation, as a tape of its own.
type Part struct {
	Conversation, Assistant string
	Turns                   int
	Tape                    []byte
	// Remembered are the turns, from 1, whose verdict the recording host had in memory:
	// a replay asks the judge once more than they did.
	Remembered []int
}

// A splitter takes a tape apart.
type splitter struct {
	id     func(conversation string) string
	shared []Record // of no conversation, for each part
	parts  map[string]*Part
	order  []*Part
	of     map[int]*Part // by turn
	local  map[int]int   // a turn's number in its conversation
	turn   map[int]int   // by exchange
	judge  *verdicts
	due    []*ended // turns without a summary, in the order of their end
}

// ended is a turn that waits for its summary.
type ended struct {
	turn             int
	question, answer string
}

// Split takes a tape of many conversations apart. What belongs to none, such as the
// lists of tools, goes to each. A summary that was made between turns goes to the turn
// that it tells.
func Split(name string, r io.Reader, id func(conversation string) string) ([]*Part, error) {
	s := &splitter{
		id: id, parts: make(map[string]*Part), of: make(map[int]*Part), local: make(map[int]int), turn: make(map[int]int),
		judge: newVerdicts(),
	}
	for e, err := range Read(name, r) {
		if errors.Is(err, ErrTorn) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.take(e.Record)
	}
	return s.order, nil
}

func (s *splitter) take(rec Record) {
	s.judge.take(rec)
	switch rec.Type {
	case TypeModelRequest:
		if rec.Turn == 0 && rec.Pass == string(providers.PassSummary) {
			rec.Turn = s.summarised(rec.Body)
		}
		s.turn[rec.Seq] = rec.Turn
	case TypeModelChunk, TypeModelEnd:
		rec.Turn = s.turn[rec.Seq]
	case TypeUser:
		s.begin(rec)
	case TypeAnswer:
		for _, t := range s.due {
			if t.turn == rec.Turn {
				t.answer = rec.Text
			}
		}
	}
	p := s.of[rec.Turn]
	switch {
	case p != nil:
		if rec.Type == TypeGuardrail {
			told := s.judge.remembered(rec.Turn, p)
			for _, rec := range told {
				p.add(rec, s.id)
			}
			if len(told) > 0 {
				p.Remembered = append(p.Remembered, s.local[rec.Turn])
			}
		}
		rec.Turn = s.local[rec.Turn]
		if rec.Type == TypeModelChunk || rec.Type == TypeModelEnd {
			rec.Turn = 0 // it is found by its exchange
		}
		p.add(rec, s.id)
	case rec.Type == TypeHeader, rec.Type == TypeMCP:
		s.shared = append(s.shared, rec)
		for _, p := range s.order {
			p.add(rec, s.id)
		}
	}
}

// begin takes the start of a turn in.
func (s *splitter) begin(rec Record) {
	p := s.parts[rec.Conversation]
	if p == nil {
		p = &Part{Conversation: rec.Conversation, Assistant: rec.Assistant}
		s.parts[rec.Conversation] = p
		s.order = append(s.order, p)
		for _, shared := range s.shared {
			p.add(shared, s.id)
		}
	}
	p.Turns++
	s.of[rec.Turn], s.local[rec.Turn] = p, p.Turns
	s.due = append(s.due, &ended{turn: rec.Turn, question: rec.Text})
}

// summarised finds the turn that a summary tells: the oldest whose question and answer
// stand in the request. 0 is none.
func (s *splitter) summarised(body json.RawMessage) int {
	text := string(body)
	for i, t := range s.due {
		question, err := json.Marshal(t.question)
		if err == nil && strings.Contains(text, string(question[1:len(question)-1])) && strings.Contains(text, plainRun(t.answer)) {
			s.due = append(s.due[:i:i], s.due[i+1:]...)
			return t.turn
		}
	}
	return 0
}

// plainRun is the longest piece of a text that no encoding changes.
func plainRun(text string) string {
	longest := ""
	for _, run := range strings.FieldsFunc(text, func(r rune) bool {
		return r != ' ' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

// add appends a record; the header becomes the part's own.
func (p *Part) add(rec Record, id func(string) string) {
	if rec.Type == TypeHeader {
		own := *rec.Header
		own.Case = id(p.Conversation)
		rec.Header = &own
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(rec) == nil { // what was read can be written
		p.Tape = append(p.Tape, b.Bytes()...)
	}
}

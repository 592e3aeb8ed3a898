package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Join joins the tapes of a conversation's turns into one, and applies replace to all texts. The
// header and the tool lists are those of the last one.
func Join(caseID string, turns []*Tape, replace func(string) string) ([]byte, error) {
	var b bytes.Buffer
	last := turns[len(turns)-1]
	header := last.Header
	header.Case = caseID
	w := newWriter(&b, NewRedactor(), header)
	for _, r := range last.Records {
		if r.Type == TypeMCP && r.Turn == 0 {
			w.Write(&r)
		}
	}
	j := joiner{w: w, replace: replace, provider: header.Speaks(), answers: make(map[int][]byte)}
	for i, t := range turns {
		j.turn, j.seq, j.id = i+1, j.lastSeq, j.lastID
		for _, r := range t.Records {
			if r.Type == TypeMCP && r.Turn == 0 {
				continue
			}
			if err := j.add(r); err != nil {
				return nil, err
			}
		}
	}
	return b.Bytes(), w.Err()
}

// A joiner writes the records of turns one after the other.
type joiner struct {
	w               *Writer
	replace         func(string) string
	provider        string
	turn, seq, id   int // the current turn, and the offsets of its numbers
	lastSeq, lastID int
	answers         map[int][]byte // the bytes of unfinished exchanges
}

func (j *joiner) add(r Record) error {
	if r.Turn > 0 {
		r.Turn = j.turn
	}
	if r.Seq > 0 {
		r.Seq += j.seq
		j.lastSeq = max(j.lastSeq, r.Seq)
	}
	r.Text, r.Raw, r.Error = j.replace(r.Text), j.replace(r.Raw), j.replace(r.Error)
	r.Body, r.Content = j.json(r.Body), j.json(r.Content)
	if r.Call != nil {
		call := *r.Call
		call.Function.Arguments = j.replace(call.Function.Arguments)
		r.Call = &call
	}
	if len(r.Frame) > 0 {
		var f rpcFrame
		if err := json.Unmarshal(j.json(r.Frame), &f); err != nil {
			return fmt.Errorf("read a frame: %w", err)
		}
		f.ID += j.id
		j.lastID = max(j.lastID, f.ID)
		r.Frame = f.Encode()
		if r.Sha != "" {
			j.w.Seal(&r)
		}
	}
	switch r.Type {
	case TypeModelChunk:
		j.answers[r.Seq] = append(j.answers[r.Seq], r.Bytes()...)
	case TypeModelEnd:
		if text := j.answerText(j.answers[r.Seq]); j.replace(text) != text {
			return errors.New("what is masked came in pieces") // the value is split between chunks
		}
		delete(j.answers, r.Seq)
	}
	j.w.Write(&r)
	return nil
}

func (j *joiner) json(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return json.RawMessage(j.replace(string(raw)))
}

// answerText returns the text and the call arguments of an exchange, each on a line.
func (j *joiner) answerText(said []byte) string {
	a, _, _ := ReadAnswer(j.provider, string(said)) // an unreadable answer has no text
	parts := []string{a.Text}
	for _, c := range a.Calls {
		parts = append(parts, c.Arguments)
	}
	return strings.Join(parts, "\n")
}

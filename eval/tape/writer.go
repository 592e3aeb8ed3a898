package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"molar/eval/match"
)

// A Writer appends records, each in one write, so that a crash tears the last line at
// most.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	redact *Redactor
	err    error

	offered map[string]int // the first exchange with a list of tools, by its hash
}

// NewWriter begins a tape with its header.
func NewWriter(to io.Writer, redact *Redactor, h Header) *Writer {
	w := &Writer{to: to, redact: redact, offered: make(map[string]int)}
	h.V = version
	w.Write(&Record{Type: TypeHeader, Header: &h})
	return w
}

// Err returns the first fault of writing; nothing was written since.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// shorten names the tools of a request by the first exchange that offered them: every request
// of a turn offers the same ones, which are most of its bytes.
func (w *Writer) shorten(r *Record) *Record {
	tools := toolsOf(r.Body)
	if tools == nil {
		return r
	}
	name := sha(string(tools))
	first, known := w.offered[name]
	if !known {
		w.offered[name] = r.Seq
		return r
	}
	short := *r
	short.Body = bytes.Replace(r.Body, tools, fmt.Appendf(nil, `{"as_in_exchange":%d}`, first), 1)
	return &short
}

// Stop ends the tape: what is written from now on is dropped.
func (w *Writer) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = io.Discard
}

// Write appends a record. The first fault is kept for [Writer.Err].
func (w *Writer) Write(r *Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	line, err := w.encode(w.shorten(r))
	if err == nil {
		_, err = w.to.Write(line)
	}
	if err != nil {
		w.err = fmt.Errorf("write the tape: %w", err)
	}
}

// encode redacts the line as a whole: no field is forgotten. Marks hold nothing that
// JSON would escape.
func (w *Writer) encode(r *Record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	if r.Type == TypeHeader {
		return b.Bytes(), nil
	}
	return []byte(w.redact.Text(b.String())), nil
}

// Seal puts the hash of a record's frame beside it: of what will stand on the tape,
// without secrets.
func (w *Writer) Seal(r *Record) {
	if clean := w.redact.Text(string(r.Frame)); json.Valid([]byte(clean)) {
		r.Frame = json.RawMessage(clean)
	}
	r.Sha = frameSha(r.Frame)
}

// frameSha is the hash of a frame.
func frameSha(frame json.RawMessage) string { return sha(match.CanonicalJSON(frame)) }

// Reseal puts the right hashes on lines of a tape whose text was changed on purpose. Only
// the hashes are written anew.
func Reseal(lines []byte) ([]byte, error) {
	var sealed bytes.Buffer
	for line := range bytes.Lines(lines) {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("reseal a tape: %w", err)
		}
		if r.Sha != "" {
			line = bytes.Replace(line, []byte(`"sha":"`+r.Sha+`"`), []byte(`"sha":"`+frameSha(r.Frame)+`"`), 1)
		}
		sealed.Write(line)
	}
	return sealed.Bytes(), nil
}

package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"molar/eval/match"
)

// A Writer appends records, each in one write, so that a crash can damage only the last line.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	redact *Redactor
	err    error

	offered map[string]int // the first exchange with a list of tools, by its hash
}

// newWriter writes the header and returns a writer.
func newWriter(to io.Writer, redact *Redactor, h Header) *Writer {
	w := &Writer{to: to, redact: redact, offered: make(map[string]int)}
	h.V = version
	w.Write(&Record{Type: TypeHeader, Header: &h})
	return w
}

// Err returns the first write error; nothing was written after it.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// shorten replaces the tools of a request by the number of the first exchange with the same
// tools. All requests of a turn offer the same ones, which are most of their bytes.
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

// Stop discards all later records.
func (w *Writer) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = io.Discard
}

// Write appends a record. The first error is kept for [Writer.Err].
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

// encode encodes a record and redacts the whole line, so that no field is missed. Marks contain
// nothing that JSON escapes.
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

// Seal adds the hash of a record's frame, computed after redaction.
func (w *Writer) Seal(r *Record) {
	if clean := w.redact.Text(string(r.Frame)); json.Valid([]byte(clean)) {
		r.Frame = json.RawMessage(clean)
	}
	r.Sha = frameSha(r.Frame)
}

// frameSha returns the hash of a frame.
func frameSha(frame json.RawMessage) string { return sha(match.CanonicalJSON(frame)) }

// Reseal updates the hashes of a tape whose text was changed on purpose. It changes nothing
// else.
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

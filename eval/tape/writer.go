package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// A Writer appends records, each in one write, so that a crash can damage only the last line. It
// writes what requests repeat only once, and seals what came from outside. It is safe for concurrent
// use.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	redact *Redactor
	err    error

	bodies folder
	seals  map[int]seal // of unfinished model calls, by Seq
}

// newWriter writes the header and returns a writer.
func newWriter(to io.Writer, redact *Redactor, h Header) *Writer {
	w := &Writer{to: to, redact: redact, seals: make(map[int]seal)}
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
	line, err := w.encode(*r)
	if err == nil {
		_, err = w.to.Write(line)
	}
	if err != nil {
		w.err = fmt.Errorf("write the tape: %w", err)
	}
}

// encode encodes a record and redacts the whole line, so that no field is missed. Marks contain
// nothing that JSON escapes.
func (w *Writer) encode(r Record) ([]byte, error) {
	switch r.Type {
	case TypeModelRequest:
		r.Body = w.bodies.fold(r.Seq, r.Body)
		w.seals[r.Seq] = newSeal()
	case TypeModelEnd:
		if s := w.seals[r.Seq]; s.Hash != nil {
			r.Sha = s.sum(&r)
			delete(w.seals, r.Seq)
		}
	case TypeMCP:
		if r.Dir == fromServer {
			if clean := w.clean(r.Frame); json.Valid(clean) {
				r.Frame = clean
			}
			r.Sha = frameSha(&r)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&r); err != nil {
		return nil, err
	}
	if r.Type == TypeHeader {
		return b.Bytes(), nil
	}
	line := w.clean(b.Bytes())
	if s := w.seals[r.Seq]; s.Hash != nil && r.Type == TypeModelChunk {
		if !bytes.Equal(line, b.Bytes()) { // a reader gets what is left
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, err
			}
		}
		s.Write(r.Bytes())
	}
	return line, nil
}

func (w *Writer) clean(data []byte) []byte { return []byte(w.redact.Text(string(data))) }

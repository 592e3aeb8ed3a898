package tape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// maxLine bounds one record, in bytes.
const maxLine = 64 << 20

// An Entry is a record with its place in the file.
type Entry struct {
	Record
	Line   int
	Offset int64 // of the line's first byte
	Size   int   // of the line, without its end
}

// ErrTorn marks a last line that was cut off while it was written. It is a warning:
// all lines before it were read.
var ErrTorn = errors.New("the last line is torn")

// Read yields the records of a tape in order. It holds one line at a time. A broken
// line, a missing header, a newer version and an exchange that begins twice end it with
// an error that names file and line; a torn last line ends it with [ErrTorn].
func Read(name string, r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := read(name, r, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Entry{}, err)
		}
	}
}

// errStopped: the consumer broke off.
var errStopped = errors.New("stopped by the consumer")

func read(name string, r io.Reader, yield func(Entry, error) bool) error {
	in := bufio.NewReaderSize(r, 256<<10)
	check := checker{exchanges: make(map[int]*progress), asked: make(map[int]bool), answered: make(map[int]bool)}
	var offset int64
	for line := 1; ; line++ {
		raw, whole, err := readLine(in)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if len(raw) == 0 && !whole {
			break
		}
		e := Entry{Line: line, Offset: offset, Size: len(raw)}
		offset += int64(len(raw)) + 1
		if rest, marked := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf")); marked && line == 1 {
			// the mark with which some editors begin a file
			e.Offset, e.Size, raw = e.Offset+int64(len(raw)-len(rest)), len(rest), rest
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if err := decodeRecord(raw, &e.Record); err != nil {
			if !whole && line > 1 {
				return fmt.Errorf("%s:%d: %w: %d bytes are left out", name, line, ErrTorn, len(raw))
			}
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if err := check.record(&e.Record); err != nil {
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if !yield(e, nil) {
			return errStopped
		}
		if !whole {
			break
		}
	}
	if !check.header {
		return fmt.Errorf("%s:1: the tape is empty: it has no header", name)
	}
	return nil
}

// readLine reads up to the next line end; whole says that there was one. The bytes
// are valid until the next call.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line == nil && err == nil {
			return part[:len(part)-1], true, nil
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], true, nil
		case errors.Is(err, io.EOF):
			return line, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case len(line) > maxLine:
			return nil, false, fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
		}
	}
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

// A checker holds what must be so across lines.
type checker struct {
	header          bool
	exchanges       map[int]*progress
	asked, answered map[int]bool // turns; those that ran side by side mix
}

// progress is how far an exchange has come.
type progress struct {
	chunks int
	ended  bool
}

func (c *checker) record(r *Record) error {
	if !c.header {
		if r.Type != TypeHeader || r.Header == nil {
			return errors.New("the first line is no header: this is no tape")
		}
		if r.Header.V > Version {
			return fmt.Errorf("the tape has version %d, this program reads up to %d: use a newer molar", r.Header.V, Version)
		}
		if r.Header.V < 1 {
			return errors.New("the header has no version")
		}
		c.header = true
		return nil
	}
	if !slices.Contains(types(), r.Type) {
		return fmt.Errorf("unknown type of record %q", r.Type)
	}
	switch r.Type {
	case TypeHeader:
		return errors.New("a second header: one file holds one tape")
	case TypeModelRequest, TypeModelChunk, TypeModelEnd:
		return c.exchange(r)
	case TypeUser:
		if c.asked[r.Turn] {
			return fmt.Errorf("turn %d begins twice", r.Turn)
		}
		c.asked[r.Turn] = true
	case TypeAnswer:
		if c.answered[r.Turn] {
			return fmt.Errorf("turn %d is answered twice", r.Turn)
		}
		c.answered[r.Turn] = true
	}
	return nil
}

// exchange looks at the parts of a model call: each once, and in order.
func (c *checker) exchange(r *Record) error {
	p := c.exchanges[r.Seq]
	switch {
	case r.Type == TypeModelRequest && p != nil:
		return fmt.Errorf("exchange %d begins twice", r.Seq)
	case r.Type == TypeModelRequest:
		c.exchanges[r.Seq] = &progress{}
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
	}
	return nil
}

func types() []string {
	return []string{
		TypeHeader, TypeUser, TypeModelRequest, TypeModelChunk, TypeModelEnd, TypeGuardrail,
		TypeToolCall, TypeToolResult, TypeMCP, TypeAnswer,
	}
}

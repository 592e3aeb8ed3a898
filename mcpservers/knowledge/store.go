package knowledge

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"sync"
)

// blockSize is how many bytes of passages are compressed together: more make them smaller, and a passage
// slower to read.
const blockSize = 32 << 10

// A store keeps passages, compressed. They are numbered from 0 in the order in which they are added.
type store struct {
	blocks [][]byte // compressed
	open   []byte   // the block that is not yet full
	spots  []spot
	writer *flate.Writer

	readers sync.Pool // of *reader
}

// A reader reads blocks, and keeps the last.
type reader struct {
	block   uint32
	inflate io.ReadCloser
	text    bytes.Buffer
}

// A spot is where a passage begins: its block, and the offset there.
type spot struct{ block, at uint32 }

func (s *store) add(p passage) {
	s.spots = append(s.spots, spot{uint32(len(s.blocks)), uint32(len(s.open))}) //nolint:gosec // memory ends long before
	s.open = p.append(s.open)
	if len(s.open) >= blockSize {
		s.close()
	}
}

// close compresses the open block.
func (s *store) close() {
	var b bytes.Buffer
	if s.writer == nil {
		s.writer, _ = flate.NewWriter(&b, flate.BestSpeed) // the level exists
	} else {
		s.writer.Reset(&b)
	}
	_, _ = s.writer.Write(s.open) // memory takes it
	_ = s.writer.Close()
	s.blocks = append(s.blocks, bytes.Clone(b.Bytes()))
	s.open = s.open[:0]
}

// at returns a passage without the name of its file.
func (s *store) at(n uint32) passage {
	at := s.spots[n]
	if int(at.block) == len(s.blocks) {
		return readPassage(s.open[at.at:])
	}
	r, reused := s.readers.Get().(*reader)
	if !reused {
		r = &reader{inflate: flate.NewReader(nil), block: none}
	}
	defer s.readers.Put(r)
	if r.block != at.block { // else the passage before was of the same block
		_ = r.inflate.(flate.Resetter).Reset(bytes.NewReader(s.blocks[at.block]), nil) //nolint:forcetypeassert // as flate says
		r.text.Reset()
		_, _ = r.text.ReadFrom(r.inflate) // it was written by close
		r.block = at.block
	}
	return readPassage(r.text.Bytes()[at.at:])
}

// settle gives memory back that is needed to add passages only.
func (s *store) settle() {
	s.writer = nil
	clip(&s.blocks)
	clip(&s.spots)
	clip(&s.open)
}

// texts returns all texts of a passage but the name of its file.
func (p *passage) texts() []*string {
	return []*string{&p.title, &p.heading, &p.anchor, &p.sheet, &p.text, &p.keywords, &p.source}
}

// numbers returns all numbers of a passage but that of its part, which follows from its place in the index.
func (p *passage) numbers() []*int { return []*int{&p.line, &p.last, &p.page} }

// append appends a passage, without the name of its file.
func (p *passage) append(b []byte) []byte {
	for _, s := range p.texts() {
		b = binary.AppendUvarint(b, uint64(len(*s)))
		b = append(b, *s...)
	}
	for _, n := range p.numbers() {
		b = binary.AppendVarint(b, int64(*n))
	}
	return b
}

// readPassage reads what append wrote.
func readPassage(b []byte) (p passage) {
	for _, s := range p.texts() {
		length, n := binary.Uvarint(b)
		*s = string(b[n : n+int(length)]) //nolint:gosec // as it was written
		b = b[n+int(length):]             //nolint:gosec // as it was written
	}
	for _, number := range p.numbers() {
		value, n := binary.Varint(b)
		*number, b = int(value), b[n:]
	}
	return p
}

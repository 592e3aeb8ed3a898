package ollamatest

import (
	"encoding/binary"
	"fmt"
	"math"
)

// tensorAlign is where the data of tensors may begin in a GGUF file.
const tensorAlign = 32

// Types of metadata values in a GGUF file.
const (
	ggufUint32  = 4
	ggufInt32   = 5
	ggufFloat32 = 6
	ggufBool    = 7
	ggufString  = 8
	ggufArray   = 9
)

// A tensor holds float32 numbers. shape[0] is the length of a row.
type tensor struct {
	name  string
	shape []uint64
	data  []float32
}

// An entry is one piece of metadata. Its value is a uint32, float32, bool, string,
// []string or []int32.
type entry struct {
	key   string
	value any
}

// A model is what a GGUF file holds.
type model struct {
	meta    []entry
	tensors []tensor
}

// ggufWriter appends the parts of a GGUF file, version 3.
type ggufWriter struct{ b []byte }

func (w *ggufWriter) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *ggufWriter) u64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

func (w *ggufWriter) text(s string) {
	w.u64(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *ggufWriter) pad() {
	for len(w.b)%tensorAlign != 0 {
		w.b = append(w.b, 0)
	}
}

// gguf writes the model as a file.
func (m model) gguf() ([]byte, error) {
	w := &ggufWriter{b: []byte("GGUF")}
	w.u32(3)
	w.u64(uint64(len(m.tensors)))
	w.u64(uint64(len(m.meta)))
	for _, e := range m.meta {
		w.text(e.key)
		if err := w.value(e.value); err != nil {
			return nil, fmt.Errorf("write metadata %q: %w", e.key, err)
		}
	}
	var offset uint64
	for _, t := range m.tensors {
		size := uint64(1)
		for _, d := range t.shape {
			size *= d
		}
		if size != uint64(len(t.data)) {
			return nil, fmt.Errorf("write tensor %q: shape %v takes %d numbers, there are %d", t.name, t.shape, size, len(t.data))
		}
		w.text(t.name)
		w.u32(uint32(len(t.shape)))
		for _, d := range t.shape {
			w.u64(d)
		}
		w.u32(0) // float32
		w.u64(offset)
		offset += (4*size + tensorAlign - 1) / tensorAlign * tensorAlign
	}
	w.pad()
	for _, t := range m.tensors {
		for _, f := range t.data {
			w.u32(math.Float32bits(f))
		}
		w.pad()
	}
	return w.b, nil
}

func (w *ggufWriter) value(v any) error {
	switch v := v.(type) {
	case uint32:
		w.u32(ggufUint32)
		w.u32(v)
	case float32:
		w.u32(ggufFloat32)
		w.u32(math.Float32bits(v))
	case bool:
		w.u32(ggufBool)
		bit := byte(0)
		if v {
			bit = 1
		}
		w.b = append(w.b, bit)
	case string:
		w.u32(ggufString)
		w.text(v)
	case []string:
		w.array(ggufString, len(v))
		for _, s := range v {
			w.text(s)
		}
	case []int32:
		w.array(ggufInt32, len(v))
		for _, n := range v {
			w.u32(uint32(n))
		}
	default:
		return fmt.Errorf("type %T is not supported", v)
	}
	return nil
}

func (w *ggufWriter) array(kind uint32, n int) {
	w.u32(ggufArray)
	w.u32(kind)
	w.u64(uint64(n))
}

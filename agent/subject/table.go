package subject

import (
	"encoding/binary"
	"math"
)

// A Table holds a classifier's weights: four bits for each bucket of feature hashes.
type Table struct {
	Bits  int     // there are 1<<Bits buckets
	Scale float32 // the largest weight
	// Cells holds two buckets a byte. A string, so that an embedded one is not copied.
	Cells string
}

// steps is the number of weight sizes above zero. They are finer near zero, where most weights are.
const steps = 7

// Score sums the weights of the features; a positive sum means a match.
func (t Table) Score(fs []Feature) float64 {
	var worth [16]float32
	for i := range worth {
		n := float32(i - 8)
		worth[i] = n * max(n, -n) / (steps * steps)
	}
	var sum float64
	for _, f := range fs {
		at := bucket(f.Hash, t.Bits)
		nibble := t.Cells[at>>1] >> (4 * (at & 1)) & 15
		sum += float64(worth[nibble] * f.Value)
	}
	return sum * float64(t.Scale)
}

// bucket folds the high bits of a hash in, as the low ones of FNV alone are uneven.
func bucket(h uint32, bits int) uint32 { return (h ^ h>>bits) & (1<<bits - 1) }

// Append appends an encoded table: its largest weight, and its cells.
func (t Table) Append(out []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(out, math.Float32bits(t.Scale)), t.Cells...)
}

// readTable decodes a table of 1<<bits buckets that [Table.Append] wrote, and returns the rest of
// data, which holds at least [size] bytes.
func readTable(data string, bits int) (t Table, rest string) {
	at := size(bits)
	scale := math.Float32frombits(binary.LittleEndian.Uint32([]byte(data[:4])))
	return Table{Bits: bits, Scale: scale, Cells: data[4:at]}, data[at:]
}

// size returns the bytes of an encoded table of 1<<bits buckets.
func size(bits int) int { return 4 + 1<<(bits-1) }

// isSound reports whether scores by the table are numbers.
func (t Table) isSound() bool { return t.Scale > 0 && t.Scale <= mostScale }

// mostScale is more than any weight that training finds.
const mostScale = 1e6

// Pack rounds the weights of 1<<bits buckets to four bits.
func Pack(weights []float64, bits int) Table {
	most := 1e-6
	for _, v := range weights {
		most = max(most, math.Abs(v))
	}
	table := make([]byte, len(weights)/2)
	for at, v := range weights {
		n := math.Round(math.Sqrt(math.Abs(v)/most) * steps)
		table[at>>1] |= byte(8+math.Copysign(n, v)) << (4 * (at & 1))
	}
	return Table{Bits: bits, Scale: float32(most), Cells: string(table)}
}

package knowledge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
)

const (
	// A question is compared exactly with the passages whose vectors point most nearly where its own does, by
	// the signs of their numbers: leastCompared of them, or one in comparedShare.
	leastCompared, comparedShare = 1000, 8
	// leastMeant is how many vectors tell what all have in common.
	leastMeant = 100
)

// A vector is a direction: each number of a model's vector as a byte. Its length says nothing.
type vector []int8

// newVector returns the direction of a model's vector.
func newVector(numbers []float32) vector {
	largest := float32(0)
	for _, x := range numbers {
		largest = max(largest, x, -x)
	}
	v := make(vector, len(numbers))
	if largest == 0 {
		return v
	}
	for i, x := range numbers {
		v[i] = int8(math.Round(float64(x / largest * math.MaxInt8)))
	}
	return v
}

// bytes returns the vector as it is stored.
func (v vector) bytes() []byte {
	data := make([]byte, len(v))
	for i, x := range v {
		data[i] = byte(x) //nolint:gosec // the same bits
	}
	return data
}

// storedVector is the reverse of [vector.bytes].
func storedVector(data []byte) vector {
	v := make(vector, len(data))
	for i, x := range data {
		v[i] = int8(x) //nolint:gosec // the same bits
	}
	return v
}

// dot returns the product of two vectors of the same length.
func dot(a, b vector) int32 {
	b = b[:len(a)]
	var s, t, u, v int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s += int32(a[i]) * int32(b[i])
		t += int32(a[i+1]) * int32(b[i+1])
		u += int32(a[i+2]) * int32(b[i+2])
		v += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s += int32(a[i]) * int32(b[i])
	}
	return s + t + u + v
}

// signs returns a bit for each number that is above that of a middle.
func (v vector) signs(middle []float32) []uint64 {
	all := make([]uint64, (len(v)+63)/64)
	for i, x := range v {
		if float32(x) > middle[i] {
			all[i/64] |= 1 << (i % 64)
		}
	}
	return all
}

// A vectorSet holds the vectors of passages one after the other. They have the same number of dimensions. It
// is not safe for concurrent use.
type vectorSet struct {
	dims   int
	data   vector
	norms  []float32 // the inverse of each vector's length
	signed []uint64  // the signs of all, against the middle
	// middle is the mean of the vectors when they were half as many at least: those of a model have much in
	// common, which says nothing.
	middle []float32
	meant  int // how many it is the mean of

	pool sync.Pool // of []uint16
}

func (s *vectorSet) size() int { return len(s.norms) }

// words is how many words the signs of a vector take.
func (s *vectorSet) words() int { return (s.dims + 63) / 64 }

// add adds a vector, and returns its row. The first one sets the dimensions.
func (s *vectorSet) add(v vector) uint32 {
	if s.size() == 0 {
		s.dims, s.middle = len(v), make([]float32, len(v))
	}
	row := s.size()
	s.data = append(s.data, v...)
	s.norms = append(s.norms, inverseLength(v))
	s.signed = append(s.signed, v.signs(s.middle)...)
	if s.size() >= max(2*s.meant, leastMeant) {
		s.center()
	}
	return uint32(row) //nolint:gosec // memory ends long before
}

// at returns the vector in a row.
func (s *vectorSet) at(row uint32) vector { return s.data[int(row)*s.dims:][:s.dims] }

// center computes the middle and all signs anew.
func (s *vectorSet) center() {
	sums := make([]int64, s.dims)
	for i, x := range s.data {
		sums[i%s.dims] += int64(x)
	}
	for i, sum := range sums {
		s.middle[i] = float32(sum) / float32(s.size())
	}
	s.meant = s.size()
	s.signed = s.signed[:0]
	for row := range s.size() {
		s.signed = append(s.signed, s.at(uint32(row)).signs(s.middle)...)
	}
}

func inverseLength(v vector) float32 {
	return float32(1 / math.Sqrt(max(float64(dot(v, v)), 1)))
}

// A near passage has the cosine of the angle between its vector and that of a question.
type near struct {
	id     uint32
	cosine float32
}

// nearest returns the passages whose vectors are nearest to that of a question, the nearest first. rows has
// the row of each passage, by its id, or none.
func (s *vectorSet) nearest(q vector, rows []uint32, most int) []near {
	if len(q) != s.dims {
		return nil
	}
	ids := s.alike(q, rows)
	length := inverseLength(q)
	all := make([]near, len(ids))
	for i, id := range ids {
		row := rows[id]
		all[i] = near{id, float32(dot(q, s.at(row))) * length * s.norms[row]}
	}
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.id, b.id)) })
	return slices.Clip(all[:min(most, len(all))])
}

// alike returns the passages whose vectors have the most signs in common with that of a question.
func (s *vectorSet) alike(q vector, rows []uint32) []uint32 {
	signs, words := q.signs(s.middle), s.words()
	kept, _ := s.pool.Get().(*[]uint16)
	if kept == nil || len(*kept) < len(rows) {
		fresh := make([]uint16, len(rows))
		kept = &fresh
	}
	defer s.pool.Put(kept)
	differing := (*kept)[:len(rows)]
	counts := make([]int, s.dims+1) // of passages with so many differing signs
	for id, row := range rows {
		if row == none {
			continue
		}
		n := 0
		for i, word := range s.signed[int(row)*words:][:words] {
			n += bits.OnesCount64(word ^ signs[i])
		}
		differing[id] = uint16(n)
		counts[n]++
	}
	least, sum := 0, 0
	for wanted := max(leastCompared, len(rows)/comparedShare); least < len(counts) && sum < wanted; least++ {
		sum += counts[least]
	}
	ids := make([]uint32, 0, sum)
	for id, row := range rows {
		if row != none && int(differing[id]) < least {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

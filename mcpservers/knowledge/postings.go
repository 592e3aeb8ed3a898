package knowledge

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
)

// postings are the passages that contain a term, and how often each does, in few bytes: the difference to
// the passage before, doubled, and one more if a number of times other than one follows.
type postings struct {
	data   []byte
	count  uint32
	latest uint32
}

// add adds a passage, which comes after all others.
func (p *postings) add(passage uint32, times int) {
	step := uint64(passage-p.latest) << 1
	if times == 1 {
		p.data = binary.AppendUvarint(p.data, step)
	} else {
		p.data = binary.AppendUvarint(p.data, step|1)
		p.data = binary.AppendUvarint(p.data, uint64(min(times, math.MaxUint8))) //nolint:gosec // not negative
	}
	p.latest = passage
	p.count++
}

// len returns the number of passages; nil has none.
func (p *postings) len() int {
	if p == nil {
		return 0
	}
	return int(p.count)
}

// all yields the passages and how often each contains the term.
func (p *postings) all() iter.Seq2[uint32, float64] {
	return func(yield func(uint32, float64) bool) {
		passage := uint32(0)
		for data := p.data; len(data) > 0; {
			step, n := binary.Uvarint(data)
			data = data[n:]
			times := uint64(1)
			if step&1 == 1 {
				times, n = binary.Uvarint(data)
				data = data[n:]
			}
			passage += uint32(step >> 1) //nolint:gosec // as it was added
			if !yield(passage, float64(times)) {
				return
			}
		}
	}
}

// clip gives unused memory back.
func clip[S ~[]E, E any](s *S) {
	if cap(*s)-len(*s) > len(*s)/16 {
		*s = slices.Clip(append(make(S, 0, len(*s)), *s...))
	}
}

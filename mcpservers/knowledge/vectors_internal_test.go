package knowledge

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// likeModels returns vectors as models make them: topics of several sizes, within which texts differ, and
// much that all have in common. The last ones are questions, each near a passage.
func likeModels(n, questions, dims int) (passages, asked [][]float32) {
	r := rand.New(rand.NewPCG(7, 7))
	random := func(size float32) []float32 {
		v := make([]float32, dims)
		for i := range v {
			v[i] = size * float32(r.NormFloat64())
		}
		return v
	}
	add := func(vs ...[]float32) []float32 {
		sum := make([]float32, dims)
		for _, v := range vs {
			for i, x := range v {
				sum[i] += x
			}
		}
		return sum
	}
	common := random(1.5)
	topics := make([][]float32, n/50+1)
	for i := range topics {
		topics[i] = random(0.8)
	}
	for range n {
		passages = append(passages, add(common, topics[int(float64(len(topics))*r.Float64()*r.Float64())], random(0.6)))
	}
	for range questions {
		asked = append(asked, add(passages[r.IntN(n)], random(0.5)))
	}
	return passages, asked
}

func setOf(passages [][]float32) (*vectorSet, []uint32) {
	s, rows := new(vectorSet), make([]uint32, 0, len(passages))
	for _, p := range passages {
		rows = append(rows, s.add(newVector(p)))
	}
	return s, rows
}

// Of the ten nearest passages, as all numbers tell them, hardly one is missed.
func TestVectorSet_recall(t *testing.T) {
	passages, asked := likeModels(20_000, 50, 384)
	s, rows := setOf(passages)
	found, all := 0, 0
	for _, question := range asked {
		exact := make([]near, len(passages))
		for id, p := range passages {
			var pq, pp float32
			for i, x := range p {
				pq, pp = pq+x*question[i], pp+x*x
			}
			exact[id] = near{uint32(id), pq * pq * float32(sign(pq)) / pp}
		}
		slices.SortFunc(exact, func(a, b near) int { return int(sign(b.cosine - a.cosine)) })
		got := s.nearest(newVector(question), rows, 10)
		for _, want := range exact[:10] {
			all++
			if slices.ContainsFunc(got, func(n near) bool { return n.id == want.id }) {
				found++
			}
		}
	}
	recall := float64(found) / float64(all)
	t.Logf("recall at 10: %.3f", recall)
	if recall < 0.98 {
		t.Errorf("recall at 10: %.3f", recall)
	}
}

func sign(x float32) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// A question is compared with 50,000 passages of 768 numbers.
func BenchmarkVectorSet_nearest(b *testing.B) {
	passages, asked := likeModels(50_000, 1, 768)
	s, rows := setOf(passages)
	q := newVector(asked[0])
	for b.Loop() {
		if len(s.nearest(q, rows, candidates)) != candidates {
			b.Fatal("too few")
		}
	}
}

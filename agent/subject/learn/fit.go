package learn

import (
	"math"
	"math/rand/v2"
	"slices"
	"unicode"

	"molar/agent/subject"
)

const (
	rate     = 0.5
	smallest = 1e-8
)

// A sample is a training example: its features, whether it is positive, and its weight.
type sample struct {
	features []subject.Feature
	in       bool
	weight   float64
}

// fit learns a table of 1<<bits buckets from samples: a logistic regression by stochastic gradient
// descent with a step size of its own for each bucket. It makes epochs passes, and averages the
// weights of the last two thirds. decay is how strongly weights are drawn to zero. The same samples
// give the same table on the same architecture.
func fit(all []sample, bits, epochs int, decay float64) subject.Table {
	all = slices.Clone(all)
	cells, sums, averaged := make([]cell, 1<<bits), make([]float64, 1<<bits), max(epochs*2/3, 1)
	order := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same order every time
	for epoch := range epochs {
		order.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, s := range all {
			step(cells, s, bits, decay)
		}
		if epoch >= epochs-averaged {
			for i, c := range cells {
				sums[i] += c.weight / float64(averaged)
			}
		}
	}
	return subject.Pack(sums, bits)
}

// A cell is a bucket's weight during training, and the sum of its squared slopes.
type cell struct{ weight, slopes float64 }

func step(cells []cell, s sample, bits int, decay float64) {
	var sum float64
	for _, f := range s.features {
		sum += cells[f.Bucket(bits)].weight * float64(f.Value)
	}
	want := 0.0
	if s.in {
		want = 1
	}
	slope := (1/(1+math.Exp(-sum)) - want) * s.weight
	for _, f := range s.features {
		c := &cells[f.Bucket(bits)]
		gradient := slope*float64(f.Value) + decay*c.weight
		c.slopes += gradient * gradient
		c.weight -= rate * gradient / (math.Sqrt(c.slopes) + smallest)
	}
}

// mistype makes one typing mistake for about every eight words: a letter left out, doubled, or
// swapped with its neighbour.
func mistype(chance *rand.Rand, message string) string {
	runes := []rune(message)
	for range 1 + len(runes)/40 {
		i := chance.IntN(max(len(runes)-1, 1))
		if i+1 >= len(runes) || !unicode.IsLetter(runes[i]) || !unicode.IsLetter(runes[i+1]) {
			continue
		}
		switch chance.IntN(3) {
		case 0:
			runes = slices.Delete(runes, i, i+1)
		case 1:
			runes = slices.Insert(runes, i, runes[i])
		default:
			runes[i], runes[i+1] = runes[i+1], runes[i]
		}
	}
	return string(runes)
}

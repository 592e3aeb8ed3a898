package linear

import (
	"math"
	"math/rand/v2"
)

// Numbers of the training, chosen by cross-validation.
const (
	epochs   = 12
	averaged = 8 // of the last epochs the weights are averaged
	rate     = 0.5
	smallest = 1e-8
)

// A Sample is an example to learn: what it holds, whether it is one of those to find, and how
// much it counts.
type Sample struct {
	Features []Feature
	In       bool
	Weight   float64
}

// Fit learns a table of 1<<bits buckets from samples: a logistic regression by stochastic
// gradient descent with a step size of its own for each bucket. decay is how strongly weights
// are drawn to zero. The same samples give the same table on the same architecture.
func Fit(all []Sample, bits int, decay float64) Table {
	table, slopes, sums := make([]float64, 1<<bits), make([]float64, 1<<bits), make([]float64, 1<<bits)
	order := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same order every time
	for epoch := range epochs {
		order.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, s := range all {
			step(table, slopes, s, bits, decay)
		}
		if epoch >= epochs-averaged {
			for i, v := range table {
				sums[i] += v / averaged
			}
		}
	}
	return pack(sums, bits)
}

func step(table, slopes []float64, s Sample, bits int, decay float64) {
	var sum float64
	for _, f := range s.Features {
		sum += table[Bucket(f.Hash, bits)] * float64(f.Value)
	}
	want := 0.0
	if s.In {
		want = 1
	}
	slope := (1/(1+math.Exp(-sum)) - want) * s.Weight
	for _, f := range s.Features {
		at := Bucket(f.Hash, bits)
		gradient := slope*float64(f.Value) + decay*table[at]
		slopes[at] += gradient * gradient
		table[at] -= rate * gradient / (math.Sqrt(slopes[at]) + smallest)
	}
}

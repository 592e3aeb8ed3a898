package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"molar/internal/text"
	"molar/providers"
	"molar/schemas"
)

// vectorBatch is how many texts go into one request. Gemini takes 100 and text-embeddings-inference 32, and
// the answer of a service with long vectors stays within the bound of [All].
const vectorBatch = 32

// firstLength and leastLength bound a text, in bytes: at first 8,000 tokens, as OpenAI does, and never less
// than a short paragraph.
const firstLength, leastLength = 24_000, 256

// Vectors computes the vectors of texts in requests of a size that services take. It is safe for concurrent
// use.
type Vectors struct {
	faults *Faults

	mu sync.Mutex
	// lengths are the bytes that a model takes, where that is less than firstLength.
	lengths map[string]int
}

// NewVectors returns an empty set of what models take.
func NewVectors(faults *Faults) *Vectors { return &Vectors{faults: faults, lengths: map[string]int{}} }

// Of returns a vector for each text, in their order, and what all requests used, with an error too; ask makes
// one. A text that is too long is cut: a model that says so gets shorter ones from then on, and the error
// asks for a retry.
func (v *Vectors) Of(model string, texts []string, ask func(texts []string) ([][]float32, *schemas.Usage, error)) (all [][]float32, used *schemas.Usage, err error) {
	most := v.length(model)
	for part := range slices.Chunk(texts, vectorBatch) {
		short, longest := make([]string, len(part)), 0
		for i, t := range part {
			short[i] = text.Clip(t, most, "")
			longest = max(longest, len(short[i]))
			if strings.TrimSpace(short[i]) == "" {
				return all, used, v.faults.Fail(providers.KindInvalid, model, errors.New("an empty text has no vector"))
			}
		}
		vectors, usage, err := ask(short)
		if usage != nil {
			if used == nil {
				used = new(schemas.Usage)
			}
			*used = used.Add(*usage)
		}
		if err == nil {
			err = v.check(model, len(part), vectors)
		}
		if err != nil {
			return all, used, v.learn(model, longest, err)
		}
		all = append(all, vectors...)
	}
	if len(texts) > vectorBatch { // those of each request are alike; of all they may not be
		err = v.check(model, len(texts), all)
	}
	return all, used, err
}

func (v *Vectors) length(model string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if most, ok := v.lengths[model]; ok {
		return most
	}
	return firstLength
}

// learn halves the length of texts if the model refused them as too long.
func (v *Vectors) learn(model string, longest int, err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Kind != providers.KindContextLength || longest <= leastLength {
		return err
	}
	most := max(longest/2, leastLength)
	v.mu.Lock()
	v.lengths[model] = most
	v.mu.Unlock()
	e.Again, e.Changed = fmt.Sprintf("a text is too long for the model, asked again with %d bytes of it", most), true
	return e
}

// check returns an error unless there are n vectors that can be compared.
func (v *Vectors) check(model string, n int, vectors [][]float32) error {
	fail := func(format string, args ...any) error {
		return v.faults.Fail(providers.KindProtocol, model, fmt.Errorf("the answer cannot be used: "+format, args...))
	}
	if len(vectors) != n {
		return fail("%d vectors came for %d texts", len(vectors), n)
	}
	for _, one := range vectors {
		if len(one) == 0 || len(one) != len(vectors[0]) {
			return fail("vectors of %d and of %d numbers", len(vectors[0]), len(one))
		}
		sum := 0.0
		for _, x := range one {
			sum += float64(x) * float64(x)
		}
		if !(sum > 0) || math.IsInf(sum, 0) { // a NaN is not above zero
			return fail("a vector is zero or has no numbers: check that the model computes embeddings")
		}
	}
	return nil
}

package attacks_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/providers"
)

// slow writes an answer, a word every 100 ms.
type slow struct{ answer string }

func (slow) Name() string { return "slow" }

func (s slow) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for word := range strings.SplitAfterSeq(s.answer, " ") {
			time.Sleep(100 * time.Millisecond)
			if !yield(providers.Chunk{Text: word}, nil) {
				return
			}
		}
		yield(providers.Chunk{Finish: providers.FinishStop}, nil)
	}
}

type slowWorld struct {
	*world
	slow
}

func (w slowWorld) Pick(context.Context, string, string, string) (providers.Route, error) {
	return providers.Route{Provider: w.slow, Model: "m", SmallModel: "s"}, nil
}

// The watch shows the words that clearly keep to the subject before it has seen a whole block.
// With -v it prints the cost that the docs name.
func TestWatch_firstText(t *testing.T) {
	if _, err := dental(); err != nil { // outside of the bubble
		t.Fatal(err)
	}
	for name, answer := range map[string]string{
		"20 words": "Brush your teeth twice a day with fluoride toothpaste, clean between the teeth each evening, and see a dentist every year.",
		"60 words": strings.Repeat("Brush your teeth twice a day with fluoride toothpaste, clean between the teeth each evening, and see a dentist every year. ", 3),
	} {
		for _, watched := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := slowWorld{&world{attack: attack{Door: "none", Assistant: "dental"}, off: off{Protections: agent.Protections{Watch: !watched}}}, slow{answer}}
				began, first, all := time.Now(), time.Duration(0), time.Duration(0)
				for e, err := range w.agentOf(t, w).Run(t.Context(), w.turn()) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Kind == agent.EventText {
						if all = time.Since(began); first == 0 {
							first = all
						}
					}
				}
				t.Logf("%s, %d words, watched %v: first text after %s, the last after %s", name, len(strings.Fields(answer)), watched, first, all)
				if watched && first > time.Second {
					t.Errorf("%s: held for %s", name, first)
				}
			})
		}
	}
}

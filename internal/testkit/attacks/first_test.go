package _test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// slow streams an answer, a word every 100 ms.
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

// Text without doubt is shown as it arrives, watched or not, even if a client sends its own
// history. With -v the test prints the times.
func TestWatch_firstText(t *testing.T) {
	if _, err := dental(); err != nil { // outside of the synctest bubble
		t.Fatal(err)
	}
	for name, reply := range map[string]string{
		"20 words":  "Brush your teeth twice a day with fluoride toothpaste, clean between the teeth each evening, and see a dentist every year.",
		"60 words":  strings.Repeat("Brush your teeth twice a day with fluoride toothpaste, clean between the teeth each evening, and see a dentist every year. ", 3),
		"not known": "None of the pages that were found says how much that costs where you live, so please ask a clinic near you for a price.",
		"a comfort": "Đừng lo quá bạn nhé, rất nhiều người cũng sợ như vậy, cứ nói trước với bác sĩ để được làm chậm lại.",
	} {
		for _, how := range []string{"unwatched", "watched", "watched, with a history"} {
			synctest.Test(t, func(t *testing.T) {
				w := slowWorld{&world{attack: attack{Door: "none", Assistant: "dental"}, off: off{Protections: agent.Protections{Watch: how == "unwatched"}}}, slow{reply}}
				turn := w.turn()
				if how == "watched, with a history" {
					turn.Stateless = true
					turn.Messages = append([]schemas.Message{schemas.Text(schemas.RoleUser, dentalAsk), schemas.Text(schemas.RoleAssistant, "Twice a day.")}, turn.Messages...)
				}
				began, first, all := time.Now(), time.Duration(0), time.Duration(0)
				for e, err := range w.agentOf(t, w).Run(t.Context(), turn) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Kind == answer.KindText {
						if all = time.Since(began); first == 0 {
							first = all
						}
					}
				}
				t.Logf("%s, %d words, %s: first text after %s, the last after %s", name, len(strings.Fields(reply)), how, first, all)
				if first != 100*time.Millisecond {
					t.Errorf("%s, %s: held for %s", name, how, first)
				}
			})
		}
	}
}

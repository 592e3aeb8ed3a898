package agent_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/schemas"
)

// The judge's call is limited to the two verdicts, short, and at temperature 0.
func TestRun_judgeIsConstrained(t *testing.T) {
	b := newBench(says("Brush twice a day."))
	b.model.judge = says(`{"verdict":"YES"}`)
	if p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask(unsure)); p.err != nil || p.text != "Brush twice a day." {
		t.Fatalf("%q %v", p.text, p.err)
	}
	at := slices.IndexFunc(b.model.requests, func(r providers.Request) bool { return r.Pass == providers.PassGuardrail })
	if at < 0 {
		t.Fatalf("no judge among %d calls", len(b.model.requests))
	}
	req := b.model.requests[at] // the answer's call overlaps with it
	if *req.Temperature != 0 || req.MaxTokens > 32 || len(req.Tools) > 0 {
		t.Errorf("request %+v", req)
	}
	var schema struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal(req.Schema, &schema); err != nil || len(schema.Properties["verdict"].Enum) != 2 {
		t.Errorf("schema %s: %v", req.Schema, err)
	}
}

// If code cannot detect the language of a question, one call before the answer returns both the
// verdict and the language.
func TestRun_languageIsAskedWithTheVerdict(t *testing.T) {
	b := newBench(says("Brush twice a day."))
	b.model.judge = says(`{"verdict":"YES","language":"vi"}`)
	p := b.with(t, schemas.Assistant{Topic: "dental"}).play(t, ask("Xylo 24 Gamma?"))
	if p.err != nil || p.done.Language != "vi" || p.done.ModelCalls != 2 {
		t.Fatalf("language %q in %d calls, %v", p.done.Language, p.done.ModelCalls, p.err)
	}
	for _, req := range b.model.requests {
		if req.Pass != providers.PassGuardrail && req.Language != "vi" {
			t.Errorf("the answer was asked for in %q", req.Language)
		}
	}
}

// The same question again does not call the judge a second time.
func TestRun_verdictIsRemembered(t *testing.T) {
	b := newBench(says("Brush twice a day."))
	b.model.judge = says("YES")
	bench := b.with(t, schemas.Assistant{Topic: "dental"})
	bench.play(t, ask(unsure))
	if p := bench.play(t, ask(unsure)); p.done.ModelCalls != 1 {
		t.Errorf("%d model calls at the second time", p.done.ModelCalls)
	}
}

// hanging is a model that never returns a verdict, and answers all other calls.
type hanging struct{ *fakeModel }

func (h hanging) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	if req.MaxTokens == 1 || req.Pass != providers.PassGuardrail {
		return h.fakeModel.Stream(ctx, req)
	}
	return func(yield func(providers.Chunk, error) bool) {
		<-ctx.Done()
		yield(providers.Chunk{}, ctx.Err())
	}
}

// A local small model gets 15 s while it may be loading, and 3 s after its first answer.
func TestRun_judgeGetsTimeToLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		queues, warmed bool
		want           time.Duration
	}{
		"a hosted model": {false, false, 3 * time.Second},
		"a cold one":     {true, false, 15 * time.Second},
		"a warm one":     {true, true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(says("Brush twice a day."))
				b.route.Provider, b.route.Queues = hanging{b.model}, tc.queues
				bench := b.with(t, schemas.Assistant{Topic: "dental"})
				if tc.warmed {
					if err := bench.agent.Warm(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				start := time.Now()
				p := bench.play(t, ask(unsure))
				if p.err != nil || !p.done.Refused || !strings.Contains(strings.ToLower(p.text), "try again") {
					t.Fatalf("%q %v", p.text, p.err)
				}
				if took := time.Since(start); took != tc.want {
					t.Errorf("took %s, want %s", took, tc.want)
				}
			})
		})
	}
}

// Hosted models are not warmed up.
func TestAgent_WarmLeavesHostedModelsAlone(t *testing.T) {
	b := newBench(says("x"))
	if err := b.with(t, schemas.Assistant{Topic: "dental"}).agent.Warm(t.Context()); err != nil || len(b.model.requests) != 0 {
		t.Errorf("%d calls, %v", len(b.model.requests), err)
	}
}

package chain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// The small passes go to the endpoint that is named for them, and to that of the turn if it fails.
func TestChain_Small(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		small  chain.Candidate
		want   chain.Want
		by     string // who answers a small pass
		asks   []string
		ofMain []string
	}{
		"another endpoint":        {chain.Candidate{Provider: script("fast", says("NO")), Model: "f", SmallModel: "fs"}, chain.Want{}, "fast", []string{"fs"}, nil},
		"without a small model":   {chain.Candidate{Provider: script("fast", says("NO")), Model: "f"}, chain.Want{}, "fast", []string{"f"}, nil},
		"not ready":               {chain.Candidate{Provider: script("fast"), Ready: down}, chain.Want{}, "main", nil, []string{"ms"}},
		"it fails":                {chain.Candidate{Provider: script("fast", fails(providers.KindUnavailable)), Model: "f"}, chain.Want{}, "fast", []string{"f"}, []string{"ms"}},
		"the request's own model": {chain.Candidate{Provider: script("fast"), Model: "f"}, chain.Want{SmallModel: "x"}, "main", nil, []string{"x"}},
		"the turn's endpoint":     {chain.Candidate{Provider: script("fast", says("NO")), Model: "f", SmallModel: "fs"}, chain.Want{Provider: "fast"}, "fast", []string{"fs"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			main := script("main", says("NO"))
			c := newChain(t, chain.Config{Order: []string{"main"}, Small: "fast", Candidates: map[string]chain.Candidate{
				"main": {Provider: main, Model: "m", SmallModel: "ms", Queues: true}, "fast": tt.small,
			}})
			route := pick(t, c, tt.want)
			small := route.For(providers.PassGuardrail)
			req := providers.Request{Pass: providers.PassGuardrail, Model: route.SmallModel}
			for _, err := range small.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
			}
			fast := tt.small.Provider.(*scripted)
			if small.Name() != tt.by || !cmp.Equal(fast.models(), tt.asks) || !cmp.Equal(main.models(), tt.ofMain) {
				t.Errorf("%s answers; fast was asked for %v, main for %v", small.Name(), fast.models(), main.models())
			}
			if other := small.Name() != route.Provider.Name(); route.Queues == (other || tt.want.Provider != "") || route.JudgeQueues() != route.Queues {
				t.Errorf("queues %v, small queues %v", route.Queues, route.JudgeQueues())
			}
			if route.For(providers.PassAnswer).Name() != route.Provider.Name() {
				t.Error("the answer goes to the small model's endpoint")
			}
		})
	}
	for _, small := range []string{"nobody", "auto", "offline"} {
		if _, err := chain.New(chain.Config{Small: small, Offline: named("offline")}); err == nil {
			t.Errorf("%s is taken", small)
		}
	}
}

// An endpoint without its key is known, and says what is missing.
func TestChain_Missing(t *testing.T) {
	t.Parallel()
	c := newChain(t, chain.Config{Order: []string{"fast", "main"}, Missing: map[string]string{"fast": "set llm.providers.fast.key"}, Candidates: candidates(script("main", says("hi")))})
	if route := pick(t, c, chain.Want{}); route.Provider.Name() != "main" {
		t.Errorf("%s", route.Provider.Name())
	}
	if _, err := c.Pick(t.Context(), chain.Want{Provider: "fast"}); err == nil || !strings.Contains(err.Error(), "not configured: set llm.providers.fast.key") {
		t.Error(err)
	}
	if _, err := c.Pick(t.Context(), chain.Want{Provider: "fats"}); err == nil || !strings.Contains(err.Error(), "choose one of anthropic, auto, fast, gemini, main, offline") {
		t.Error(err)
	}
}

// A call costs what all its tries and endpoints cost, each by the price of its own model; what the
// service reports counts where there is no price.
func TestChain_Cost(t *testing.T) {
	t.Parallel()
	used := func(cost float64) providers.Chunk {
		return providers.Chunk{Usage: &schemas.Usage{PromptTokens: 1000, CompletionTokens: 100, TotalTokens: 1100, Cost: schemas.NewCost(cost)}}
	}
	empty := reply{[]providers.Chunk{used(0)}, &providers.Error{Kind: providers.KindUnavailable, Provider: "first", Err: errors.New("an empty answer"), Again: "empty"}}
	answer := func(cost float64) reply {
		return reply{chunks: []providers.Chunk{{Text: "hi"}, used(cost), {Finish: providers.FinishStop}}}
	}
	price := func(input, output float64) func(string) schemas.Price {
		return func(model string) schemas.Price {
			if model != "m" {
				return schemas.Price{}
			}
			return schemas.Price{Input: input, Output: output}
		}
	}
	for name, tt := range map[string]struct {
		first, second []reply
		price         func(string) schemas.Price
		model         string
		cost          string
		tokens        int
	}{
		"one call":                {[]reply{answer(0)}, nil, price(1, 10), "m", "0.002", 1100},
		"a retry":                 {[]reply{empty, answer(0)}, nil, price(1, 10), "m", "0.004", 2200},
		"another endpoint":        {[]reply{empty}, []reply{answer(0.5)}, price(1, 10), "m", "0.506", 4400}, // three tries before it
		"the service's report":    {[]reply{answer(0.25)}, nil, nil, "m", "0.25", 1100},
		"a price goes before it":  {[]reply{answer(0.25)}, nil, price(1, 10), "m", "0.002", 1100},
		"a model without a price": {[]reply{answer(0)}, nil, price(1, 10), "other", "0", 1100},
		"nothing is known":        {[]reply{answer(0)}, nil, nil, "m", "0", 1100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, chain.Config{Order: []string{"first", "second"}, Candidates: map[string]chain.Candidate{
				"first":  {Provider: script("first", tt.first...), Model: tt.model, Price: tt.price},
				"second": {Provider: script("second", tt.second...), Model: "s"},
			}})
			route := pick(t, c, chain.Want{})
			var last schemas.Usage
			for chunk, err := range route.Provider.Stream(t.Context(), providers.Request{Pass: providers.PassAnswer, Model: route.Model}) {
				if err != nil {
					t.Fatal(err)
				}
				if chunk.Usage != nil {
					last = *chunk.Usage
				}
			}
			if last.Cost.String() != tt.cost || last.TotalTokens != tt.tokens {
				t.Errorf("cost %s for %d tokens, want %s for %d", last.Cost, last.TotalTokens, tt.cost, tt.tokens)
			}
		})
	}
}

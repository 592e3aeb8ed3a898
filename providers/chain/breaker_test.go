package chain_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/chain"
)

// broken runs turns until gemini's breaker is open, and returns the chain.
func broken(t *testing.T, cfg chain.Config) *chain.Chain {
	t.Helper()
	c := newChain(t, cfg)
	for range 5 {
		route := pick(t, c, chain.Want{})
		if route.Provider.Name() != "gemini" {
			t.Fatalf("the breaker opened too early: %s", route.Why)
		}
		call(t.Context(), route, providers.PassAnswer)
	}
	return c
}

func TestBreaker_OpensAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		gemini, ollama := script("gemini", fails(providers.KindUnavailable)), script("ollama", says("from ollama"))
		cfg := chain.Config{Candidates: candidates(gemini, ollama), Logger: slog.New(slog.NewTextHandler(&log, nil))}
		c := broken(t, cfg)
		turn := func(provider, why string, asked int) {
			t.Helper()
			route := pick(t, c, chain.Want{})
			got := call(t.Context(), route, providers.PassAnswer)
			if route.Provider.Name() != provider || !strings.Contains(route.Why, why) || got.err != nil || len(gemini.models()) != asked {
				t.Fatalf("%s (%s), %+v, gemini asked %d times; want %s and %d", route.Provider.Name(), route.Why, got, len(gemini.models()), provider, asked)
			}
		}
		turn("ollama", "gemini: passed over for 30s after 5 failures in a row: ", 5)
		time.Sleep(29 * time.Second)
		turn("ollama", "passed over for 1s", 5)
		time.Sleep(time.Second)
		turn("gemini", "", 6) // the trial fails, and ollama answers instead
		turn("ollama", "passed over for 30s", 6)
		time.Sleep(30 * time.Second)
		gemini.replies = []reply{says("from gemini")}
		turn("gemini", "", 7)
		turn("gemini", "", 8)
		for _, want := range []string{"provider is passed over", "provider is tried again", "provider answers again"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not logged:\n%s", want, &log)
			}
		}
	})
}

func TestBreaker_WhatCounts(t *testing.T) {
	t.Parallel()
	quota := &providers.Error{Kind: providers.KindQuota, Provider: "gemini", RetryAfter: 7 * time.Second, Err: errors.New("slow down")}
	for name, c := range map[string]struct {
		replies []reply
		opens   bool
	}{
		"outages":               {[]reply{fails(providers.KindUnavailable), fails(providers.KindTimeout), fails(providers.KindAuth), fails(providers.KindQuota), fails(providers.KindUnavailable)}, true},
		"cut streams":           {[]reply{fails(providers.KindIncomplete, providers.Chunk{Text: "he"})}, true},
		"four failures":         {[]reply{fails(providers.KindTimeout), fails(providers.KindTimeout), fails(providers.KindTimeout), fails(providers.KindTimeout), says("hi")}, false},
		"a success between":     {append(slices.Repeat([]reply{fails(providers.KindTimeout)}, 4), says("hi"), fails(providers.KindTimeout), says("hi")), false},
		"invalid requests":      {[]reply{fails(providers.KindInvalid)}, false},
		"too long prompts":      {[]reply{fails(providers.KindContextLength)}, false},
		"models nobody has":     {[]reply{fails(providers.KindModelNotFound)}, false},
		"a time to come back":   {[]reply{{err: quota}}, true},
		"that time, and others": {[]reply{says("hi"), says("hi"), says("hi"), says("hi"), {err: quota}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := newChain(t, chain.Config{Candidates: candidates(script("gemini", c.replies...), script("ollama", says("hi")))})
			for range max(5, len(c.replies)) {
				call(t.Context(), pick(t, ch, chain.Want{}), providers.PassAnswer)
			}
			if route := pick(t, ch, chain.Want{}); (route.Provider.Name() != "gemini") != c.opens {
				t.Errorf("picked %s: %s", route.Provider.Name(), route.Why)
			}
		})
	}
}

func TestBreaker_CancelledCallsDoNotCount(t *testing.T) {
	t.Parallel()
	gemini := script("gemini", fails(providers.KindIncomplete))
	c := newChain(t, chain.Config{Candidates: candidates(gemini, script("ollama", says("hi")))})
	ctx, cancel := context.WithCancel(t.Context())
	route := pick(t, c, chain.Want{})
	cancel()
	for range 10 {
		call(ctx, route, providers.PassAnswer)
	}
	if route := pick(t, c, chain.Want{}); route.Provider.Name() != "gemini" {
		t.Error(route.Why)
	}
}

func TestBreaker_PausesAsLongAsTheServiceSays(t *testing.T) {
	t.Parallel()
	for told, want := range map[time.Duration]time.Duration{7 * time.Second: 7 * time.Second, 90 * time.Second: 90 * time.Second, 30 * time.Hour: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			gemini := script("gemini", reply{err: &providers.Error{Kind: providers.KindQuota, RetryAfter: told, Err: errors.New("slow down")}})
			c := newChain(t, chain.Config{Candidates: candidates(gemini, script("ollama", says("hi")))})
			call(t.Context(), pick(t, c, chain.Want{}), providers.PassAnswer)
			time.Sleep(want - time.Millisecond)
			if route := pick(t, c, chain.Want{}); route.Provider.Name() != "ollama" {
				t.Errorf("asked again before %v", want)
			}
			time.Sleep(time.Millisecond)
			if route := pick(t, c, chain.Want{}); route.Provider.Name() != "gemini" {
				t.Errorf("not asked again after %v: %s", want, route.Why)
			}
		})
	}
}

// A shorter pause does not shorten a longer one.
func TestBreaker_KeepsTheLongerPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quota := func(after time.Duration) reply {
			return reply{err: &providers.Error{Kind: providers.KindQuota, RetryAfter: after, Err: errors.New("slow down")}}
		}
		gemini := script("gemini", quota(time.Minute), quota(time.Second))
		c := newChain(t, chain.Config{Candidates: candidates(gemini, script("ollama", says("hi")))})
		for range 2 {
			call(t.Context(), pick(t, c, chain.Want{Provider: "gemini"}), providers.PassAnswer)
		}
		time.Sleep(50 * time.Second)
		if route := pick(t, c, chain.Want{}); len(gemini.models()) != 2 || route.Provider.Name() != "ollama" {
			t.Errorf("gemini was asked %d times; picked %s: %s", len(gemini.models()), route.Provider.Name(), route.Why)
		}
	})
}

// If every breaker is open, the provider whose pause ends first is called, and an answer closes
// its breaker at once.
func TestBreaker_TheLeastBad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gemini := script("gemini", reply{err: &providers.Error{Kind: providers.KindQuota, RetryAfter: time.Minute, Err: errors.New("slow down")}})
		ollama := script("ollama", reply{err: &providers.Error{Kind: providers.KindQuota, RetryAfter: time.Second, Err: errors.New("busy")}}, says("from ollama"))
		c := newChain(t, chain.Config{Candidates: candidates(gemini, ollama)})
		if got := call(t.Context(), pick(t, c, chain.Want{}), providers.PassAnswer); got.err == nil {
			t.Fatalf("%+v", got)
		}
		route := pick(t, c, chain.Want{})
		if route.Provider.Name() != "ollama" || !strings.Contains(route.Why, "slow down") || !strings.Contains(route.Why, "busy") {
			t.Errorf("%s: %s", route.Provider.Name(), route.Why)
		}
		if got := call(t.Context(), route, providers.PassAnswer); got.text != "from ollama" || got.switched != nil {
			t.Errorf("%+v", got)
		}
		if route := pick(t, c, chain.Want{}); strings.Contains(route.Why, "busy") {
			t.Errorf("ollama is still passed over: %s", route.Why)
		}
	})
}

// A provider without a substitute is called even if its breaker is open.
func TestBreaker_OfTheOnlyProvider(t *testing.T) {
	t.Parallel()
	gemini := script("gemini", fails(providers.KindUnavailable))
	c := broken(t, chain.Config{Order: []string{"gemini"}, Candidates: candidates(gemini)})
	gemini.replies = []reply{says("back")}
	route := pick(t, c, chain.Want{})
	if got := call(t.Context(), route, providers.PassAnswer); got.text != "back" || !strings.Contains(route.Why, "passed over") {
		t.Errorf("%+v: %s", got, route.Why)
	}
}

// gated answers once its gate is open.
type gated struct{ gate chan struct{} }

func (gated) Name() string { return "gemini" }

func (g gated) Stream(ctx context.Context, _ providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		select {
		case <-g.gate:
			_ = yield(providers.Chunk{Text: "from gemini"}, nil) && yield(providers.Chunk{Finish: providers.FinishStop}, nil)
		case <-ctx.Done():
			yield(providers.Chunk{}, &providers.Error{Kind: providers.KindIncomplete, Err: ctx.Err()})
		}
	}
}

// While one call tries a half-open breaker the others use other providers; if the trial is
// cancelled, the next call makes it.
func TestBreaker_OneTrialAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gemini := script("gemini", fails(providers.KindUnavailable))
		slow := gated{make(chan struct{})}
		all := candidates(gemini, script("ollama", says("from ollama")))
		swap := all["gemini"]
		turns := &switching{first: gemini, then: slow, after: 5}
		swap.Provider = turns
		all["gemini"] = swap
		c := broken(t, chain.Config{Candidates: all})
		time.Sleep(30 * time.Second)

		routes := []providers.Route{pick(t, c, chain.Want{}), pick(t, c, chain.Want{}), pick(t, c, chain.Want{})}
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan outcome, 2)
		go func() { results <- call(ctx, routes[0], providers.PassAnswer) }()
		synctest.Wait()
		if got := call(t.Context(), routes[1], providers.PassAnswer); got.text != "from ollama" || !strings.Contains(got.switched[0].Why, "another call tries") {
			t.Errorf("beside the trial: %+v", got)
		}
		if route := pick(t, c, chain.Want{}); route.Provider.Name() != "ollama" {
			t.Errorf("picked %s beside the trial", route.Provider.Name())
		}
		cancel()
		if got := <-results; got.err == nil {
			t.Errorf("%+v", got)
		}
		go func() { results <- call(t.Context(), routes[2], providers.PassAnswer) }()
		synctest.Wait()
		close(slow.gate)
		if got := <-results; got.text != "from gemini" {
			t.Errorf("the second trial: %+v", got)
		}
		if route := pick(t, c, chain.Want{}); route.Provider.Name() != "gemini" {
			t.Errorf("still passed over: %s", route.Why)
		}
	})
}

// switching is one provider for some calls and another one after them.
type switching struct {
	first, then providers.Provider
	after       int
}

func (*switching) Name() string { return "gemini" }

func (s *switching) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	if s.after--; s.after >= 0 {
		return s.first.Stream(ctx, req)
	}
	return s.then.Stream(ctx, req)
}

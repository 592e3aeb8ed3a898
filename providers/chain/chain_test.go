package chain_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/chain"
)

// named is a provider that is never called.
type named string

func (n named) Name() string { return string(n) }

func (n named) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	panic("the chain only chooses")
}

var errDown = &providers.Error{Kind: providers.KindUnavailable, Provider: "ollama", Err: errors.New("nobody listens: run: ollama pull m")}

func up(context.Context) (string, string, string, error) { return "m", "", "it answers", nil }

func down(context.Context) (string, string, string, error) { return "", "", "", errDown }

func newChain(t *testing.T, cfg chain.Config) *chain.Chain {
	t.Helper()
	if cfg.Offline == nil {
		cfg.Offline = named("offline")
	}
	c, err := chain.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChain_Pick(t *testing.T) {
	t.Parallel()
	gemini := chain.Candidate{Provider: named("gemini"), Model: "g", SmallModel: "g-small"}
	ollama := chain.Candidate{Provider: named("ollama"), Ready: up, Queues: true}
	dead := chain.Candidate{Provider: named("ollama"), Ready: down}
	type candidates = map[string]chain.Candidate
	for name, c := range map[string]struct {
		order      []string
		candidates candidates
		want       chain.Want
		provider   string
		model      string
		small      string
		why        string
	}{
		"auto prefers gemini":      {nil, candidates{"gemini": gemini, "ollama": ollama}, chain.Want{}, "gemini", "g", "g-small", "configured"},
		"auto takes ollama":        {[]string{"auto"}, candidates{"ollama": ollama}, chain.Want{}, "ollama", "m", "m", "it answers"},
		"auto ends offline":        {nil, candidates{"ollama": dead}, chain.Want{}, "offline", "", "", "ollama pull m"},
		"auto without candidates":  {nil, nil, chain.Want{}, "offline", "", "", "GEMINI_API_KEY"},
		"the turn's wish":          {nil, candidates{"gemini": gemini, "ollama": ollama}, chain.Want{Provider: "ollama", Model: "x"}, "ollama", "x", "m", "it answers"},
		"the turn's small model":   {nil, candidates{"gemini": gemini}, chain.Want{SmallModel: "s"}, "gemini", "g", "s", ""},
		"offline by name":          {nil, candidates{"gemini": gemini}, chain.Want{Provider: "offline"}, "offline", "", "", "asked for"},
		"a list skips":             {[]string{"gemini", "ollama"}, candidates{"ollama": ollama}, chain.Want{}, "ollama", "m", "m", ""},
		"a list may end offline":   {[]string{"ollama", "offline"}, candidates{"ollama": dead}, chain.Want{}, "offline", "", "", "nobody listens"},
		"a list may end with auto": {[]string{"ollama", "auto"}, candidates{"ollama": dead}, chain.Want{}, "offline", "", "", "nobody listens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := newChain(t, chain.Config{Order: c.order, Candidates: c.candidates}).Pick(t.Context(), c.want)
			if err != nil {
				t.Fatal(err)
			}
			if r.Provider.Name() != c.provider || r.Model != c.model || r.SmallModel != c.small {
				t.Errorf("got %s, %q, %q; want %s, %q, %q", r.Provider.Name(), r.Model, r.SmallModel, c.provider, c.model, c.small)
			}
			if !strings.Contains(r.Why, c.why) {
				t.Errorf("why %q says nothing of %q", r.Why, c.why)
			}
			if r.Offline != (c.provider == "offline") || r.Queues != (c.provider == "ollama") {
				t.Errorf("offline %v, queues %v", r.Offline, r.Queues)
			}
		})
	}
}

func TestChain_PickRefuses(t *testing.T) {
	t.Parallel()
	c := newChain(t, chain.Config{
		Order:      []string{"ollama"},
		Candidates: map[string]chain.Candidate{"ollama": {Provider: named("ollama"), Ready: down}},
	})
	for name, w := range map[string]struct {
		want chain.Want
		kind providers.Kind
		text string
	}{
		"unknown":            {chain.Want{Provider: "olama"}, providers.KindInvalid, "choose one of anthropic, auto, gemini, offline, ollama, openai"},
		"not configured":     {chain.Want{Provider: "gemini"}, providers.KindInvalid, "set GEMINI_API_KEY"},
		"no silent fallback": {chain.Want{}, providers.KindUnavailable, "nobody listens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.Pick(t.Context(), w.want)
			if providers.KindOf(err) != w.kind || !strings.Contains(err.Error(), w.text) {
				t.Errorf("got %q (%s), want %q (%s)", err, providers.KindOf(err), w.text, w.kind)
			}
		})
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]chain.Config{
		"unknown name": {Order: []string{"gpt"}},
		"no provider":  {Candidates: map[string]chain.Candidate{"ollama": {}}},
	} {
		if _, err := chain.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A candidate's own wait may be longer than the others', if it is not the only one.
func TestChain_WaitsAsLongAsACandidateSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) (string, string, string, error) {
			select {
			case <-time.After(time.Second):
				return up(ctx)
			case <-ctx.Done():
				return down(ctx)
			}
		}
		for wait, want := range map[time.Duration]string{0: "offline", 3 * time.Second: "openai"} {
			c := newChain(t, chain.Config{Candidates: map[string]chain.Candidate{"openai": {Provider: named("openai"), Ready: slow, Wait: wait}}})
			if r, err := c.Pick(t.Context(), chain.Want{}); err != nil || r.Provider.Name() != want {
				t.Errorf("wait %s: %v, %v; want %s", wait, r.Provider, err, want)
			}
		}
	})
}

func TestChain_ProbesAtMostEveryTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int32
		alive := false
		c := newChain(t, chain.Config{Candidates: map[string]chain.Candidate{"ollama": {
			Provider: named("ollama"),
			Ready: func(ctx context.Context) (string, string, string, error) {
				probes.Add(1)
				if alive {
					return up(ctx)
				}
				return down(ctx)
			},
		}}})
		pick := func(want string, probed int32) {
			t.Helper()
			r, err := c.Pick(t.Context(), chain.Want{})
			if err != nil || r.Provider.Name() != want || probes.Load() != probed {
				t.Fatalf("got %v, %v after %d probes; want %s after %d", r.Provider, err, probes.Load(), want, probed)
			}
		}
		if _, err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		pick("offline", 1)
		time.Sleep(9 * time.Second)
		pick("offline", 1)
		time.Sleep(2 * time.Second)
		pick("offline", 2)
		alive = true
		pick("offline", 2)
		time.Sleep(11 * time.Second)
		pick("ollama", 3)
		alive = false
		time.Sleep(time.Hour)
		pick("ollama", 3)
	})
}

func TestChain_AnExplicitProviderIsProbedAtOnce(t *testing.T) {
	t.Parallel()
	alive := false
	c := newChain(t, chain.Config{Candidates: map[string]chain.Candidate{"ollama": {
		Provider: named("ollama"),
		Ready: func(ctx context.Context) (string, string, string, error) {
			if alive {
				return up(ctx)
			}
			return down(ctx)
		},
	}}})
	want := chain.Want{Provider: "ollama"}
	if _, err := c.Pick(t.Context(), want); err == nil {
		t.Fatal("no error")
	}
	alive = true
	if _, err := c.Pick(t.Context(), want); err != nil {
		t.Fatal(err)
	}
}

func TestChain_OneProbeAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most, all atomic.Int32
		c := newChain(t, chain.Config{Candidates: map[string]chain.Candidate{"ollama": {
			Provider: named("ollama"),
			Ready: func(ctx context.Context) (string, string, string, error) {
				all.Add(1)
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				<-ctx.Done() // a host that drops packets
				return "", "", "", ctx.Err()
			},
		}}})
		round := func(longest time.Duration) {
			t.Helper()
			start := time.Now()
			done := make(chan error, 20)
			for range cap(done) {
				go func() {
					r, err := c.Pick(t.Context(), chain.Want{})
					if err == nil && !r.Offline {
						err = errors.New("not offline")
					}
					done <- err
				}()
			}
			for range cap(done) {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(start); took > longest {
				t.Errorf("took %v, at most %v", took, longest)
			}
		}
		round(300 * time.Millisecond)
		round(0)
		time.Sleep(11 * time.Second)
		round(300 * time.Millisecond)
		if most.Load() != 1 || all.Load() != 2 {
			t.Errorf("%d probes, %d at once; want 2, one at a time", all.Load(), most.Load())
		}
	})
}

func TestChain_ACancelledTurnSpoilsNoProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, chain.Config{Candidates: map[string]chain.Candidate{"ollama": {
			Provider: named("ollama"),
			Ready: func(ctx context.Context) (string, string, string, error) {
				select {
				case <-time.After(100 * time.Millisecond):
					return up(ctx)
				case <-ctx.Done():
					return "", "", "", ctx.Err()
				}
			},
		}}})
		gone, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		go func() { _, _ = c.Pick(gone, chain.Want{}) }()
		synctest.Wait()
		waiting, cancel2 := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel2()
		if _, err := c.Pick(waiting, chain.Want{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a waiting turn got %v, want its own deadline", err)
		}
		r, err := c.Pick(t.Context(), chain.Want{})
		if err != nil || r.Model != "m" {
			t.Errorf("got %v, %v", r, err)
		}
	})
}

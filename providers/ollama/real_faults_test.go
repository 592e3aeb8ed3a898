package ollama_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/testkit/ollamatest"
	"molar/providers"
	"molar/providers/ollama"
)

func TestReal_Context(t *testing.T) {
	s := ollamatest.Start(t)
	p := realProvider(t, s, ollama.Config{})
	s.Make(t, "noise", ollamatest.Spec{Noise: true})
	s.Model(t, "m", endless)
	ctx := within(t)
	t.Run("a prompt that no window takes", func(t *testing.T) {
		req := question(strings.Repeat("x ", 20<<10))
		req.Model = "noise"
		a := ask(ctx, p, req)
		if providers.KindOf(a.err) != providers.KindContextLength || a.text != "" {
			t.Errorf("got %+v", a)
		}
		if diff := cmp.Diff([]string{"prompt too long, asked again with a window of 32768 tokens"}, a.notes); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("one window for every pass", func(t *testing.T) {
		for _, text := range []string{"short", strings.Repeat("longer ", 50)} {
			req := question(text)
			req.Model = "m"
			ask(ctx, p, req).wants(t, "fine")
		}
		loaded, err := p.Loaded(ctx)
		for _, m := range loaded {
			if m.Name == "m:latest" && m.ContextLength == 4096 {
				return
			}
		}
		t.Errorf("loaded %+v, %v", loaded, err)
	})
	t.Run("a window grown for one question is given back", func(t *testing.T) {
		window := func() int {
			loaded, err := p.Loaded(ctx)
			for _, m := range loaded {
				if m.Name == "m:latest" {
					return m.ContextLength
				}
			}
			t.Fatalf("loaded %+v, %v", loaded, err)
			return 0
		}
		before := providers.Window(ctx, p, "m")
		long, short := question("longer"), question("short")
		long.Model, long.MaxTokens, short.Model = "m", 12_000, "m"
		ask(ctx, p, long).wants(t, "fine")
		grown := window()
		if grown < 16384 || providers.Window(ctx, p, "m") != before {
			t.Errorf("a window of %d; prompts are made for %d, before for %d", grown, providers.Window(ctx, p, "m"), before)
		}
		for range 8 {
			ask(ctx, p, short).wants(t, "fine")
		}
		if got := window(); got != 4096 {
			t.Errorf("a window of %d is kept", got)
		}
	})
	t.Run("an answer that fills its room", func(t *testing.T) {
		req := question("on")
		req.Model, req.MaxTokens = "m", 40
		if a := ask(ctx, p, req); a.err != nil || a.finish != providers.FinishLength || len(a.text) != 40 {
			t.Errorf("got %+v", a)
		}
	})
}

func TestReal_Faults(t *testing.T) {
	s := ollamatest.Start(t)
	p := realProvider(t, s, ollama.Config{})
	s.Model(t, "m", endless)
	s.Model(t, "b", "{{ $say = `a"+strings.Repeat("b", 40)+"` }}")
	fine := func(t *testing.T) {
		t.Helper()
		ask(within(t), p, providers.Request{Model: "m", Messages: question("?").Messages}).wants(t, "fine")
	}
	on := providers.Request{Model: "m", Messages: question("on").Messages}
	fine(t)

	t.Run("no such model", func(t *testing.T) {
		a := ask(within(t), p, providers.Request{Model: "nobody", Messages: on.Messages})
		if providers.KindOf(a.err) != providers.KindModelNotFound || !strings.Contains(a.err.Error(), "ollama pull nobody") {
			t.Errorf("got %v", a.err)
		}
	})
	t.Run("a stream without an end", func(t *testing.T) {
		a := ask(within(t), p, providers.Request{Model: "b", Messages: on.Messages})
		if providers.KindOf(a.err) != providers.KindIncomplete || !strings.HasPrefix(a.text, "abb") || a.finish != "" {
			t.Errorf("got %+v", a)
		}
	})
	// ended waits until the server has finished the request.
	ended := func(t *testing.T, before int) {
		t.Helper()
		ctx := within(t)
		for tick := time.Tick(10 * time.Millisecond); s.Ended(t, "/api/chat") == before; <-tick {
			if ctx.Err() != nil {
				t.Fatal("the server goes on")
			}
		}
		// This version of the server may hang if the client disconnects between two tokens.
		s.KillRunners(t)
		fine(t)
	}
	t.Run("cancelled", func(t *testing.T) {
		before := s.Ended(t, "/api/chat")
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		var last error
		for _, err := range p.Stream(ctx, on) {
			last = err
			cancel()
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("got %v", last)
		}
		ended(t, before)
	})
	t.Run("the consumer breaks off", func(t *testing.T) {
		before := s.Ended(t, "/api/chat")
		for _, err := range p.Stream(within(t), on) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		ended(t, before)
	})
	// during runs fault after the first text of an endless answer.
	during := func(t *testing.T, fault func()) answer {
		t.Helper()
		var a answer
		for chunk, err := range p.Stream(within(t), on) {
			if a.text == "" && chunk.Text != "" {
				fault()
			}
			a.text, a.err = a.text+chunk.Text, err
		}
		return a
	}
	t.Run("a killed runner", func(t *testing.T) {
		a := during(t, func() {
			if s.KillRunners(t) == 0 {
				t.Error("no runner was found")
			}
		})
		if providers.KindOf(a.err) != providers.KindUnavailable || a.text == "" {
			t.Errorf("got %+v", a)
		}
		fine(t)
	})
	t.Run("a killed server", func(t *testing.T) {
		a := during(t, s.Kill)
		if providers.KindOf(a.err) != providers.KindIncomplete || a.text == "" {
			t.Errorf("got %+v", a)
		}
		a = ask(within(t), p, on)
		if providers.KindOf(a.err) != providers.KindUnavailable || !strings.Contains(a.err.Error(), "start Ollama") {
			t.Errorf("got %+v", a)
		}
	})
}

func TestReal_Busy(t *testing.T) {
	s := ollamatest.Start(t, "OLLAMA_MAX_QUEUE=1", "OLLAMA_MAX_LOADED_MODELS=1")
	p := realProvider(t, s, ollama.Config{})
	s.Model(t, "m", endless)
	s.Make(t, "other", ollamatest.Spec{Script: endless, Width: 64})
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	for _, err := range p.Stream(ctx, providers.Request{Model: "m", Messages: question("on").Messages}) {
		if err != nil {
			t.Fatal(err)
		}
		// The other model waits for the end of this answer, and the queue has one place.
		errs := make(chan error, 4)
		for range cap(errs) {
			go func() { errs <- once(ctx, p, providers.Request{Model: "other", Messages: question("?").Messages}).err }()
		}
		err = <-errs
		e, _ := errors.AsType[*providers.Error](err)
		if e == nil || e.Kind != providers.KindUnavailable || e.Status != 503 || e.RetryAfter <= 0 {
			t.Errorf("got %v, want a busy server", err)
		}
		cancel()
		for range cap(errs) - 1 {
			if err := <-errs; err == nil {
				t.Error("a cancelled call ended well")
			}
		}
		break
	}
}

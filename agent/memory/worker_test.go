package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent/memory"
	"molar/schemas"
)

// A summariser stands for the model: it quotes what it was asked for, and fails when
// told to.
type summariser struct {
	mu    sync.Mutex
	asked []string
	err   error
}

func (s *summariser) summarise(_ context.Context, lang, question, answer string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, lang+": "+question)
	return " " + strings.ToUpper(question+" "+answer) + "\n", s.err
}

func (s *summariser) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *summariser) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func newWorker(t *testing.T, c *memory.Client, s *summariser) *memory.Worker {
	t.Helper()
	w, err := memory.NewWorker(memory.WorkerConfig{Client: c, Summarise: s.summarise})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// wantSummary compares the summary and how far it reaches.
func wantSummary(t *testing.T, c *memory.Client, id, summary string, covers int64) {
	t.Helper()
	o := begin(t, c, id, "")
	if o.Summary != summary || o.Covers != covers {
		t.Errorf("%s: summary %q covers %d, want %q covers %d", id, o.Summary, o.Covers, summary, covers)
	}
}

func TestNewWorker_WantsItsParts(t *testing.T) {
	s := &summariser{}
	if _, err := memory.NewWorker(memory.WorkerConfig{Summarise: s.summarise}); err == nil {
		t.Error("no client: no error")
	}
	if _, err := memory.NewWorker(memory.WorkerConfig{Client: fresh(t)}); err == nil {
		t.Error("no summariser: no error")
	}
}

// Each answer is appended to the one text after a blank line, and Drain ends when
// nothing is behind.
func TestWorker_Appends(t *testing.T) {
	c, s := fresh(t), &summariser{}
	w := newWorker(t, c, s)
	turn(t, c, "chat_a", "one", "first", "")
	if err := w.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, c, "chat_a", "ONE FIRST", 2)
	turn(t, c, "chat_a", "two", "second", "")
	turn(t, c, "chat_a", "three", "third", "")
	turn(t, c, "chat_b", "other", "else", "")
	for range 2 { // the second time there is nothing to do
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantSummary(t, c, "chat_a", "ONE FIRST\n\nTWO SECOND\n\nTHREE THIRD", 6)
	wantSummary(t, c, "chat_b", "OTHER ELSE", 2)
	if s.count() != 4 {
		t.Errorf("asked %q", s.asked)
	}
	if !strings.HasPrefix(s.asked[0], "en: ") {
		t.Errorf("not in the conversation's language: %q", s.asked[0])
	}
}

// An interrupted answer is not summarised, and passed over when a whole one follows.
func TestWorker_PassesOverInterrupted(t *testing.T) {
	c, s := fresh(t), &summariser{}
	w := newWorker(t, c, s)
	turn(t, c, "chat_a", "cut", "half an", schemas.StatusInterrupted)
	if err := w.Drain(t.Context()); err != nil || s.count() != 0 {
		t.Fatalf("asked %q, %v", s.asked, err)
	}
	wantSummary(t, c, "chat_a", "", 0)
	turn(t, c, "chat_a", "whole", "answer", "")
	if err := w.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, c, "chat_a", "WHOLE ANSWER", 4)
	if diff := cmp.Diff([]string{"en: whole"}, s.asked); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
}

// The sources below an answer are no part of what is summarised.
func TestWorker_LeavesSourcesOut(t *testing.T) {
	c, s := fresh(t), &summariser{}
	claim := memory.Claim{ConversationID: "chat_a", Messages: []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "q"},
		{Seq: 2, Role: schemas.RoleAssistant, Content: "text\n\nSources:\n\n1. https://a.example", Sources: []schemas.Source{{URL: "https://a.example"}}},
	}}
	turn(t, c, "chat_a", "q", "text", "")
	summary, covers, err := newWorker(t, c, s).CatchUp(t.Context(), claim)
	if summary != "Q TEXT" || covers != 2 || err != nil {
		t.Errorf("summary %q covers %d, %v", summary, covers, err)
	}
}

// What fails stays as it was for a later time; what was done before it stays done.
func TestWorker_CatchUp_Fails(t *testing.T) {
	c, s := fresh(t), &summariser{}
	w := newWorker(t, c, s)
	turn(t, c, "chat_a", "one", "first", "")
	turn(t, c, "chat_a", "two", "second", "")
	claims, err := c.ClaimSummaries(t.Context(), 1)
	if err != nil || len(claims) != 1 {
		t.Fatalf("claims %v, %v", claims, err)
	}
	if again, err := c.ClaimSummaries(t.Context(), 1); err != nil || len(again) > 0 {
		t.Errorf("claimed twice: %v, %v", again, err)
	}
	gone := errors.New("no model")
	failing := func(ctx context.Context, lang, question, answer string) (string, error) {
		if question == "two" {
			return "half a summ", gone
		}
		return s.summarise(ctx, lang, question, answer)
	}
	broken, err := memory.NewWorker(memory.WorkerConfig{Client: c, Summarise: failing})
	if err != nil {
		t.Fatal(err)
	}
	summary, covers, err := broken.CatchUp(t.Context(), claims[0])
	if summary != "ONE FIRST" || covers != 2 || !errors.Is(err, gone) {
		t.Errorf("summary %q covers %d, %v", summary, covers, err)
	}
	wantSummary(t, c, "chat_a", "ONE FIRST", 2)
	if err := w.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, c, "chat_a", "ONE FIRST\n\nTWO SECOND", 4)
}

// A conversation that cannot be summarised, such as one that the model refuses, keeps
// no other one waiting; a model that is away is not asked for all of them.
func TestWorker_Drain_GoesOnPastFailures(t *testing.T) {
	refused := errors.New("the model refused")
	for name, c := range map[string]struct {
		bad, good, asked int
	}{
		"one is refused":      {bad: 1, good: 4, asked: 5},
		"the model is away":   {bad: 5, good: 0, asked: 3},
		"refusals at the end": {bad: 2, good: 1, asked: 3},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, filepath.Join(t.TempDir(), "molar.db"))
			for i := range c.bad {
				turn(t, client, fmt.Sprint("bad_", i), fmt.Sprint("bad ", i), "first", "")
			}
			for i := range c.good {
				turn(t, client, fmt.Sprint("good_", i), fmt.Sprint("good ", i), "first", "")
			}
			asked := 0
			w, err := memory.NewWorker(memory.WorkerConfig{Client: client, Summarise: func(_ context.Context, _, question, answer string) (string, error) {
				asked++
				if strings.HasPrefix(question, "bad") {
					return "", refused
				}
				return question + " " + answer, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Drain(t.Context()); !errors.Is(err, refused) {
				t.Errorf("drain: %v", err)
			}
			if asked != c.asked {
				t.Errorf("the model was asked %d times, want %d", asked, c.asked)
			}
			for i := range c.good {
				wantSummary(t, client, fmt.Sprint("good_", i), fmt.Sprintf("good %d first", i), 2)
			}
		})
	}
}

// What an earlier process left behind is made up for at the next start.
func TestWorker_SecondStartCatchesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molar.db")
	t.Run("the first process", func(t *testing.T) {
		turn(t, newClient(t, path), "chat_a", "one", "first", "")
	})
	c, s := newClient(t, path), &summariser{}
	if err := newWorker(t, c, s).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, c, "chat_a", "ONE FIRST", 2)
}

// fakeServer stands for the memory server with one conversation, so that the clock of
// a test governs all that waits. A claim holds for a minute.
type fakeServer struct {
	mu      sync.Mutex
	behind  int
	held    time.Time // until then the claim of somebody holds
	claimed int       // how often claims were asked for
}

func (f *fakeServer) Request(_ context.Context, _, method string, _, result any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch method {
	case "memory/claim_summaries":
		f.claimed++
		items := `{"items":[]}`
		if f.behind > 0 && !time.Now().Before(f.held) {
			f.held = time.Now().Add(time.Minute)
			items = `{"items":[{"conversation_id":"c","messages":[{"seq":1,"role":"user","content":"q"},{"seq":2,"role":"assistant","content":"a"}]}]}`
		}
		return json.Unmarshal([]byte(items), result)
	case "memory/set_summary":
		f.behind--
		f.held = time.Time{}
	}
	return nil
}

func (f *fakeServer) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind++
}

func (f *fakeServer) look() (behind, claimed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.behind, f.claimed
}

// run starts a worker over the server for one test under synctest; stop ends it.
func run(t *testing.T, server *fakeServer, s *summariser) (w *memory.Worker, stop func()) {
	t.Helper()
	c, err := memory.New(server)
	if err != nil {
		t.Fatal(err)
	}
	w = newWorker(t, c, s)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return w, func() { cancel(); running.Wait() }
}

// pass lets the time pass.
func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

// Run makes up for what is behind at its start and then sleeps until a turn nudges it.
func TestWorker_Run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{behind: 1}, &summariser{}
		w, stop := run(t, server, s)
		defer stop()
		synctest.Wait()
		if behind, _ := server.look(); behind != 0 || s.count() != 1 {
			t.Fatalf("at its start: %d behind, asked %d times", behind, s.count())
		}
		pass(2 * time.Minute)
		_, before := server.look()
		pass(time.Hour)
		if _, after := server.look(); after != before {
			t.Error("it works while nothing happens")
		}
		server.add()
		for range 10 {
			w.Nudge() // never blocks
		}
		synctest.Wait()
		if behind, _ := server.look(); behind != 0 || s.count() != 2 {
			t.Errorf("after a nudge: %d behind, asked %d times", behind, s.count())
		}
	})
}

// What failed is tried again after a minute, also when other turns nudge meanwhile.
func TestWorker_Run_TriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{}, &summariser{}
		w, stop := run(t, server, s)
		defer stop()
		pass(5 * time.Minute)
		s.fail(errors.New("no model"))
		server.add()
		w.Nudge()
		pass(30 * time.Second)
		s.fail(nil)
		w.Nudge()
		synctest.Wait()
		if behind, _ := server.look(); behind != 1 || s.count() != 1 {
			t.Errorf("%d behind, asked %d times", behind, s.count())
		}
		pass(31 * time.Second)
		if behind, _ := server.look(); behind != 0 {
			t.Error("it did not try again after a minute")
		}
	})
}

// A claim of a process that died does not keep the next one from catching up.
func TestWorker_Run_TakesOverClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{behind: 1, held: time.Now().Add(50 * time.Second)}, &summariser{}
		_, stop := run(t, server, s)
		defer stop()
		pass(time.Minute)
		if behind, _ := server.look(); behind != 0 {
			t.Error("the claim was not taken over")
		}
	})
}

// A summary that takes too long is given up.
func TestWorker_Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := memory.New(&fakeServer{behind: 1})
		if err != nil {
			t.Fatal(err)
		}
		w, err := memory.NewWorker(memory.WorkerConfig{
			Client: c, Timeout: 5 * time.Second,
			Summarise: func(ctx context.Context, _, _, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := w.Drain(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

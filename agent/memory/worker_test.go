package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"molar/agent/memory"
	"molar/agent/prompts"
	"molar/schemas"
)

// summariser is a model that writes the exchange in capitals, records the requests, and fails if
// it is set to fail.
type summariser struct {
	mu        sync.Mutex
	asked     []string
	exchanges []prompts.SummaryInput
	err       error
}

func (s *summariser) summarise(_ context.Context, x prompts.SummaryInput) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, x.Language+": "+x.Question)
	s.exchanges = append(s.exchanges, x)
	return " " + strings.ToUpper(x.Question+" "+x.Answer) + "\n", s.err
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

// wantSummary compares the summary and the last message that it covers.
func wantSummary(t *testing.T, c *memory.Client, id, summary string, covers int64) {
	t.Helper()
	o := peek(t, c, id, "")
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

// For an exchange that no model may read, the piece is its question verbatim, and the
// conversation is named after the next one.
func TestWorker_Unread(t *testing.T) {
	c, s := fresh(t), &summariser{}
	named := ""
	w, err := memory.NewWorker(memory.WorkerConfig{
		Client: c, Summarise: s.summarise, Unread: func(answer string) bool { return answer == "notice" },
		Title: func(_ context.Context, x prompts.SummaryInput) (string, error) {
			named = x.Question
			return "A name", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	turn(t, c, "chat_a", "in need", "notice", "")
	if err := w.Drain(t.Context()); err != nil || s.count() > 0 || named != "" {
		t.Fatalf("%d summaries, named after %q, %v", s.count(), named, err)
	}
	wantSummary(t, c, "chat_a", "in need", 2)
	turn(t, c, "chat_a", "later", "answer", "")
	if err := w.Drain(t.Context()); err != nil || s.count() != 1 || named != "later" {
		t.Errorf("%d summaries, named after %q, %v", s.count(), named, err)
	}
	wantSummary(t, c, "chat_a", "in need\n\nLATER ANSWER", 4)
}

// No model reads what people at the desk write, or what was for them alone: pieces quote both.
func TestWorker_Desk(t *testing.T) {
	c, s := fresh(t), &summariser{}
	turn(t, c, "chat_a", "is saturday free?", "", "")
	save(t, c, memory.Record{Lease: begin(t, c, "chat_a", "").Lease, TurnID: "d", Answer: "It is.", Assistant: schemas.Desk})
	if err := newWorker(t, c, s).Drain(t.Context()); err != nil || s.count() > 0 {
		t.Fatalf("%d summaries by a model, %v", s.count(), err)
	}
	wantSummary(t, c, "chat_a", "is saturday free?\n\nThe desk wrote: It is.", 4)
}

// A conversation whose model writes no title, or one that is too long, keeps its question, and the model
// is not asked again.
func TestWorker_titleOnce(t *testing.T) {
	c, s := fresh(t), &summariser{}
	asked := 0
	w, err := memory.NewWorker(memory.WorkerConfig{Client: c, Summarise: s.summarise, Title: func(context.Context, prompts.SummaryInput) (string, error) {
		asked++
		return "", nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"one", "two", "three"} {
		turn(t, c, "chat_a", question, "answer", "")
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := c.List(t.Context(), "", "", 10, "")
	if err != nil || len(list) != 1 || list[0].Title != "one" || asked != 1 {
		t.Errorf("%+v, %v, asked %d times", list, err, asked)
	}
}

// A conversation is named once, after its first answer. If that fails, its question remains its
// name, the summary is written nevertheless, and the next answer tries again. A name given by a
// person is not replaced.
func TestWorker_Titles(t *testing.T) {
	c, s := fresh(t), &summariser{}
	var asked []string
	fails := true
	w, err := memory.NewWorker(memory.WorkerConfig{Client: c, Summarise: s.summarise, Title: func(_ context.Context, x prompts.SummaryInput) (string, error) {
		asked = append(asked, x.Question)
		if fails {
			return "", errors.New("no model")
		}
		return "About " + x.Question, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	drained := func(id, question, want string) {
		t.Helper()
		turn(t, c, id, question, "answer", "")
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, _, err := c.List(t.Context(), "", "", 10, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range list {
			if got.ID == id && got.Title != want {
				t.Errorf("%s is called %q, want %q", id, got.Title, want)
			}
		}
	}
	drained("chat_a", "one", "one")
	fails = false
	drained("chat_a", "two", "About two")
	drained("chat_a", "three", "About two")
	turn(t, c, "chat_b", "four", "answer", "")
	if err := c.Rename(t.Context(), "", "chat_b", "Mine"); err != nil {
		t.Fatal(err)
	}
	drained("chat_b", "five", "Mine")
	if got := strings.Join(asked, " "); got != "one two" {
		t.Errorf("asked for names after %q", got)
	}
	wantSummary(t, c, "chat_b", "FOUR ANSWER\n\nFIVE ANSWER", 4)
}

// Each answer is appended to the one text after a blank line, and Drain returns when nothing is
// left to summarise.
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
	for range 2 { // the second time, nothing is left
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

// Several conversations are summarised at a time, but only one if the model queues its requests.
func TestWorker_Parallel(t *testing.T) {
	c := fresh(t)
	for _, queues := range []bool{false, true} {
		for _, id := range []string{"chat_a", "chat_b", "chat_c"} {
			turn(t, c, id, fmt.Sprint(id, " ", queues), "answer", "")
		}
		var now, most atomic.Int32
		w, err := memory.NewWorker(memory.WorkerConfig{
			Client: c, Parallel: 2, Queues: func() bool { return queues },
			Summarise: func(context.Context, prompts.SummaryInput) (string, error) {
				n := now.Add(1)
				defer now.Add(-1)
				for begun := time.Now(); n == 1 && !queues && now.Load() < 2 && most.Load() < 2 && time.Since(begun) < time.Minute; {
					time.Sleep(time.Millisecond) // wait for the other one
				}
				most.Store(max(most.Load(), now.Load()))
				return "x", nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int32{false: 2, true: 1}[queues]; most.Load() != want {
			t.Errorf("queues %v: %d at a time, want %d", queues, most.Load(), want)
		}
	}
}

// An interrupted answer is not summarised, and is skipped when a whole one follows.
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

// A summary is made from the earlier text, the tools' results, and the answer without its
// sources.
func TestWorker_GivesTheExchange(t *testing.T) {
	c, s := fresh(t), &summariser{}
	turn(t, c, "chat_a", "one", "first", "")
	round := schemas.Round{Results: []schemas.ToolResult{
		{ToolName: "book", Output: []byte(`{"at":"14:30"}`)}, {ToolName: "say", Output: []byte(`"` + strings.Repeat("ế", 1000) + `"`)},
	}}
	sources := []schemas.Source{{URL: "https://a.example"}}
	save(t, c, memory.Record{
		Lease: begin(t, c, "chat_a", "").Lease, TurnID: "t2", User: "two", Answer: "second\n\nSources:\n\n1. https://a.example",
		Rounds: []schemas.Round{round, round, round, round, round}, Sources: sources, Language: "vi",
	})
	if err := newWorker(t, c, s).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := s.exchanges[1]
	if n := len(got.Results); n > 4<<10 || !strings.HasPrefix(got.Results, `book: {"at":"14:30"}`+"\nsay: ếế") || !utf8.ValidString(got.Results) {
		t.Errorf("%d bytes of results: %.100q", n, got.Results)
	}
	got.Results = ""
	if diff := cmp.Diff(prompts.SummaryInput{Language: "vi", SoFar: "ONE FIRST", Question: "two", Answer: "second"}, got); diff != "" {
		t.Errorf("exchange (-want +got)\n%s", diff)
	}
}

// A summary that fails is left for a later attempt; those made before it stay.
func TestWorker_Drain_Fails(t *testing.T) {
	c, s := fresh(t), &summariser{}
	turn(t, c, "chat_a", "one", "first", "")
	turn(t, c, "chat_a", "two", "second", "")
	gone := errors.New("no model")
	broken, err := memory.NewWorker(memory.WorkerConfig{Client: c, Summarise: func(ctx context.Context, x prompts.SummaryInput) (string, error) {
		if x.Question == "two" {
			return "half a summ", gone
		}
		return s.summarise(ctx, x)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Drain(t.Context()); !errors.Is(err, gone) {
		t.Errorf("drain: %v", err)
	}
	wantSummary(t, c, "chat_a", "ONE FIRST", 2)
	if again, err := c.ClaimSummary(t.Context(), 0, false); err != nil || again != nil {
		t.Errorf("claimed twice: %v, %v", again, err)
	}
}

// Each branch has its own summary; their common part is summarised once.
func TestWorker_Branches(t *testing.T) {
	c, s := fresh(t), &summariser{}
	w := newWorker(t, c, s)
	turn(t, c, "chat_a", "one", "first", "")
	turn(t, c, "chat_a", "two", "second", "")
	o, err := c.Begin(t.Context(), memory.BeginRequest{ConversationID: "chat_a", Parent: new("turn one")})
	if err != nil {
		t.Fatal(err)
	}
	save(t, c, memory.Record{Lease: o.Lease, TurnID: "turn three", User: "three", Answer: "third"})
	if err := w.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSummary(t, c, "chat_a", "ONE FIRST\n\nTHREE THIRD", 6)
	slices.Sort(s.asked)
	if diff := cmp.Diff([]string{"en: one", "en: three", "en: two"}, s.asked); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
	o, err = c.Begin(t.Context(), memory.BeginRequest{ConversationID: "chat_a", Parent: new("turn two")})
	if err != nil || o.Summary != "ONE FIRST\n\nTWO SECOND" || o.Tip != "turn two" || len(o.Messages) != 4 {
		t.Errorf("the other branch: %+v, %v", o, err)
	}
	if err := c.Release(t.Context(), o.Lease); err != nil {
		t.Error(err)
	}
	_, err = c.Begin(t.Context(), memory.BeginRequest{ConversationID: "chat_a", Parent: new("turn none")})
	if !errors.Is(err, memory.ErrNoParent) {
		t.Errorf("after an unknown turn: %v", err)
	}
}

// A conversation that cannot be summarised, for example because the model refuses, does not block
// the others; an unavailable model is not called for all of them.
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
			w, err := memory.NewWorker(memory.WorkerConfig{Client: client, Summarise: func(_ context.Context, x prompts.SummaryInput) (string, error) {
				asked++
				if strings.HasPrefix(x.Question, "bad") {
					return "", refused
				}
				return x.Question + " " + x.Answer, nil
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

// A process summarises at its start what an earlier one left unsummarised.
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

// fakeServer is a memory server with one conversation, so that the test's fake clock governs
// every wait. A claim lasts a minute.
type fakeServer struct {
	mu      sync.Mutex
	behind  int
	held    time.Time // the end of the current claim
	claimed int       // how often claims were requested
}

func (f *fakeServer) Request(_ context.Context, _, method string, params, result any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch method {
	case "memory/claim_summaries":
		f.claimed++
		items := `{"items":[]}`
		if least := params.(map[string]any)["least"].(int); f.behind > 0 && 2*f.behind >= least && !time.Now().Before(f.held) {
			f.held = time.Now().Add(time.Minute)
			items = `{"items":[{"conversation_id":"c","messages":[{"seq":1,"role":"user","content":"q"},{"seq":2,"role":"assistant","content":"a"}]}]}`
		}
		return json.Unmarshal([]byte(items), result)
	case "memory/add_piece":
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
	return runWith(t, server, memory.WorkerConfig{Summarise: s.summarise})
}

func runWith(t *testing.T, server memory.Requester, cfg memory.WorkerConfig) (w *memory.Worker, stop func()) {
	t.Helper()
	var err error
	if cfg.Client, err = memory.New(server); err != nil {
		t.Fatal(err)
	}
	if w, err = memory.NewWorker(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return w, func() { cancel(); running.Wait() }
}

// pass advances the clock.
func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

// Run summarises what is left at its start, and then sleeps until a turn nudges it.
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
			w.Nudge(false) // never blocks
		}
		synctest.Wait()
		if behind, _ := server.look(); behind != 0 || s.count() != 2 {
			t.Errorf("after a nudge: %d behind, asked %d times", behind, s.count())
		}
	})
}

// crowd is a server with many conversations, each of which is claimed once.
type crowd struct {
	mu           sync.Mutex
	behind, done int
}

func (c *crowd) Request(_ context.Context, _, method string, _, result any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case method == "memory/add_piece":
		c.done++
	case method == "memory/claim_summaries" && c.behind > 0:
		c.behind--
		return json.Unmarshal([]byte(`{"items":[{"conversation_id":"c","messages":[{"seq":1,"role":"user","content":"q"},{"seq":2,"role":"assistant","content":"a"}]}]}`), result)
	}
	return nil
}

// A slow summary delays no other conversation as long as two can be made at a time. A
// conversation that comes when no place is free is summarised later.
func TestWorker_Run_BesideASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &crowd{}
		var asked atomic.Int32
		w, stop := runWith(t, server, memory.WorkerConfig{Parallel: 2, Summarise: func(context.Context, prompts.SummaryInput) (string, error) {
			if asked.Add(1)%2 == 1 { // every other one is slow
				time.Sleep(30 * time.Second)
			}
			return "x", nil
		}})
		defer stop()
		pass(5 * time.Minute)
		save := func(wantBegun int32) {
			t.Helper()
			server.mu.Lock()
			server.behind++
			server.mu.Unlock()
			w.Nudge(false)
			pass(time.Second)
			if got := asked.Load(); got != wantBegun {
				t.Errorf("%d summaries were begun, want %d", got, wantBegun)
			}
		}
		save(1)
		save(2)
		save(3)
		save(3) // both places are taken
		pass(time.Minute)
		if server.done != 4 {
			t.Errorf("%d of 4 summaries were made", server.done)
		}
	})
}

// A failed summary is tried again after a minute, even if other turns nudge the worker meanwhile.
func TestWorker_Run_TriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{}, &summariser{}
		w, stop := run(t, server, s)
		defer stop()
		pass(5 * time.Minute)
		s.fail(errors.New("no model"))
		server.add()
		w.Nudge(false)
		pass(30 * time.Second)
		s.fail(nil)
		w.Nudge(false)
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

// A turn costs few claims, even if many summaries can be made at a time.
func TestWorker_Run_ClaimsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{}, &summariser{}
		w, stop := runWith(t, server, memory.WorkerConfig{Summarise: s.summarise, Parallel: 4})
		defer stop()
		pass(5 * time.Minute)
		for _, c := range []struct{ turns, claims int }{
			{0, 1},
			{1, 3}, // it, what else is due meanwhile, and what its conversation lacks after it
		} {
			for range c.turns {
				server.add()
			}
			_, before := server.look()
			w.Nudge(false)
			synctest.Wait()
			if behind, after := server.look(); behind != 0 || after-before != c.claims {
				t.Errorf("%d turns: %d behind after %d claims, want %d claims", c.turns, behind, after-before, c.claims)
			}
		}
	})
}

// An unavailable model is called for a few conversations, not for all.
func TestWorker_Run_ModelAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &summariser{}
		s.fail(errors.New("no model"))
		_, stop := runWith(t, &crowd{behind: 100}, memory.WorkerConfig{Summarise: s.summarise, Parallel: 2})
		defer stop()
		synctest.Wait()
		if n := s.count(); n < 3 || n > 6 {
			t.Errorf("asked %d times", n)
		}
	})
}

// A summary that the model always refuses is not requested every minute, but is not given up
// either.
func TestWorker_Run_RestsLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{behind: 1}, &summariser{}
		s.fail(errors.New("the model refuses"))
		_, stop := runWith(t, server, memory.WorkerConfig{Summarise: s.summarise, Parallel: 4})
		defer stop()
		pass(10 * time.Hour)
		if n := s.count(); n < 10 || n > 20 {
			t.Errorf("asked %d times in ten hours", n)
		}
		s.fail(nil)
		pass(time.Hour)
		if behind, _ := server.look(); behind != 0 {
			t.Error("it was given up")
		}
	})
}

// The claim of a process that died is taken over when it ends.
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

// A summary that exceeds its deadline is abandoned.
func TestWorker_Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := memory.New(&fakeServer{behind: 1})
		if err != nil {
			t.Fatal(err)
		}
		w, err := memory.NewWorker(memory.WorkerConfig{
			Client:    c,
			Summarise: func(ctx context.Context, _ prompts.SummaryInput) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := w.Drain(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 50*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// If the model queues requests, a summary waits until there was no turn for a while, unless it is
// due or too many messages are unsummarised.
func TestWorker_Run_WaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := &fakeServer{behind: 1}, &summariser{}
		w, stop := runWith(t, server, memory.WorkerConfig{
			Summarise: s.summarise, Queues: func() bool { return true }, Threshold: 6,
		})
		defer stop()
		want := func(when string, asked int) {
			t.Helper()
			synctest.Wait()
			if s.count() != asked {
				t.Errorf("%s: asked %d times, want %d", when, s.count(), asked)
			}
		}
		want("at its start", 0)
		pass(19 * time.Second)
		want("before it is quiet for long", 0)
		pass(time.Second)
		want("after 20 s", 1)
		pass(10 * time.Minute)

		server.add()
		w.Nudge(false)
		pass(15 * time.Second)
		server.add()
		w.Nudge(false)
		pass(15 * time.Second)
		want("15 s after the last turn", 1)
		ended := w.Began()
		pass(time.Minute)
		want("while a turn runs", 1)
		ended()
		pass(20 * time.Second)
		want("after it ended", 3)

		server.add()
		w.Nudge(true)
		want("when it is due", 4)

		server.add()
		w.Nudge(false)
		server.add()
		w.Nudge(false)
		pass(time.Second)
		want("with four messages", 4)
		server.add()
		w.Nudge(false)
		pass(time.Second)
		want("with six messages", 5) // a claim of this server returns one exchange
	})
}

package offer_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/agent/answer"
	"molar/agent/offer"
	"molar/internal/testkit/npm"
	"molar/mcpclients"
	"molar/schemas"
)

// TestShare measures the share of questions whose right tool a model can call, over the tools of
// fifteen third-party servers: because it is offered, or because find_tools returns it for the
// question itself (the offline provider's search) or for words that a model would choose. The
// table is in docs/architecture.md.
func TestShare(t *testing.T) {
	c := offer.New(offer.Config{Tools: attach(t), Rank: offer.Of, Most: 128, Log: slog.New(slog.DiscardHandler)})
	for _, file := range []string{"questions.txt", "heldout.txt"} {
		all := questions(t, file)
		t.Logf("%s: %d questions\n   tokens  tools  offered  found by the question  found by words", file, len(all))
		for _, tokens := range []int{2000, 4000, 8000, 16000} {
			s := shareOf(t, c, all, tokens)
			t.Logf("%9d  %5d  %5.0f %%  %19.0f %%  %12.0f %%", tokens, s.tools/len(all), s.percent(s.offered), s.percent(s.byQuestion), s.percent(s.byWords))
			if least := map[int]float64{2000: 80, 8000: 90}[tokens]; s.percent(s.offered) < least { // windows of 8,192 and 32,768
				t.Errorf("%s: offered for %d of %d questions with %d tokens, want %.0f %%", file, s.offered, len(all), tokens, least)
			}
			if tokens == 8000 && s.percent(s.byWords) < 95 {
				t.Errorf("%s: offered or found for %d of %d questions, want 95 %%; not for:\n%s", file, s.byWords, len(all), strings.Join(s.lost, "\n"))
			}
		}
	}
}

// share counts the questions whose right tool is offered, or offered or found.
type share struct {
	all, offered, byQuestion, byWords int
	tools                             int // offered, over all questions
	lost                              []string
}

func (s share) percent(n int) float64 { return 100 * float64(n) / float64(s.all) }

func shareOf(t *testing.T, c *offer.Chooser, all []asks, tokens int) share {
	t.Helper()
	s := share{all: len(all)}
	for _, q := range all {
		out := answer.NewSpeaker(t.Context(), "turn", answer.NewTracer(false, time.Now), slog.New(slog.DiscardHandler), func(answer.Event, error) bool { return true })
		choice, err := c.Choose(t.Context(), out, offer.Want{Globs: offer.Globs{"*"}, Questions: []offer.Question{{Question: q.question}}, Bytes: 4 * tokens})
		if err != nil {
			t.Fatal(err)
		}
		s.tools += len(choice.Offered)
		infos := offer.Infos(choice.Offered)
		offered := slices.ContainsFunc(q.right, func(name string) bool { return offer.Has(infos, name) })
		count(&s.offered, offered)
		count(&s.byQuestion, offered || q.found(t, choice.Finder, q.question))
		found := offered || q.found(t, choice.Finder, q.words)
		if count(&s.byWords, found); !found {
			s.lost = append(s.lost, q.question)
		}
	}
	return s
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

// asks is a question, the tools of which one suits, and the words by which a model looks for it.
type asks struct {
	question, words string
	right           []string
}

// found reports whether the finder returns one of the right tools for the words.
func (q asks) found(t *testing.T, f *offer.Finder, words string) bool {
	t.Helper()
	args, err := json.Marshal(map[string]string{"words": words})
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.Tool().Call(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(q.right, func(name string) bool { return strings.Contains("\n"+result.OutputText(), "\n"+name+":") })
}

func questions(t *testing.T, file string) []asks {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []asks
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 4 {
			t.Fatalf("%q has %d cells, want 4", line, len(cells))
		}
		all = append(all, asks{question: cells[1], right: strings.Fields(cells[2]), words: cells[3]})
	}
	return all
}

// attached are the tools of servers whose tools were listed once.
type attached []schemas.Tool

func (a attached) Tools() []schemas.Tool        { return a }
func (attached) Status() []schemas.ServerStatus { return nil }
func (attached) Resource(context.Context, schemas.Caller, string, string) (string, []schemas.Part, error) {
	return "", nil, nil
}
func (attached) Instructions() map[string]string              { return nil }
func (attached) WaitStarting(context.Context, []string) error { return nil }

func attach(t *testing.T) attached {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var cfg mcpclients.Config
	for _, s := range npm.Servers(t, dir) {
		cfg.Servers = append(cfg.Servers, s.Config)
	}
	m, err := mcpclients.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := m.Wait(ctx, nil); err != nil {
		t.Fatal(err)
	}
	tools := m.Catalogue().Tools()
	if len(tools) < 150 {
		t.Fatalf("%d tools, want 150", len(tools))
	}
	return tools
}

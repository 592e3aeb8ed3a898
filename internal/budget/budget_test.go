package budget_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/internal/budget"
	"molar/internal/config"
	"molar/internal/store"
	"molar/providers"
	"molar/schemas"
)

// A model answers each call with a text and a usage, unless it fails.
type model struct {
	calls int
	fails error
}

func (*model) Name() string { return "openai" }

func (m *model) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		m.calls++
		if m.fails != nil {
			yield(providers.Chunk{}, m.fails)
			return
		}
		yield(providers.Chunk{Text: "hello", Usage: &schemas.Usage{PromptTokens: 30, CompletionTokens: 15}, Finish: providers.FinishStop}, nil)
	}
}

// ask makes a call, and returns its warning and its error.
func ask(t *testing.T, p providers.Provider, owner string) (warning string, err error) {
	t.Helper()
	for chunk, fault := range p.Stream(t.Context(), providers.Request{Pass: providers.PassAnswer, Model: "m", MaxTokens: 10, Payer: providers.Payer{Owner: owner, Assistant: "general"}}) {
		warning, err = warning+chunk.Warning, fault
	}
	return warning, err
}

func TestBook(t *testing.T) {
	now := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "m.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	book, err := budget.New(budget.Config{
		Budgets: config.Budgets{Person: schemas.Budget{Per: schemas.PerDay, Tokens: 50}}, Store: db, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	service := new(model)
	metered := book.Meter(service, nil)

	service.fails = errors.New("down")
	if _, err := ask(t, metered, "person:ann"); err == nil {
		t.Error("the failure is lost")
	}
	service.fails = nil // what failed before any output cost nothing
	if warning, err := ask(t, metered, "person:ann"); err != nil || warning != "" {
		t.Fatal(warning, err)
	}
	if warning, err := ask(t, metered, "person:ann"); err != nil || !strings.Contains(warning, "30 November 00:00 UTC") {
		t.Errorf("want a warning at 90 %%: %q %v", warning, err)
	}
	_, err = ask(t, metered, "person:ann")
	fault, _ := errors.AsType[*providers.Error](err)
	if fault == nil || fault.Kind != providers.KindBudget || fault.RetryAfter != time.Hour ||
		fault.Error() != "today's budget of yours is used up; it begins anew on 30 November 00:00 UTC" || service.calls != 3 {
		t.Errorf("want a refusal before the call: %v, %+v", err, fault)
	}
	for _, owner := range []string{"person:bob", "key_1", ""} {
		if _, err := ask(t, metered, owner); err != nil {
			t.Errorf("%q pays for ann: %v", owner, err)
		}
	}
	if err := book.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, err := db.UsageOf(t.Context(), "person:ann", now)
	want := []schemas.UsageLine{{
		Day: "2026-11-29", Owner: "person:ann", Groups: []string{}, Assistant: "general", Provider: "openai", Model: "m",
		UsageSum: schemas.UsageSum{Calls: 2, Prompt: 60, Completion: 30},
	}}
	if diff := cmp.Diff(want, lines); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A broken store answers nothing.
type broken struct{ budget.Store }

func (broken) TakeBudget(context.Context, []schemas.NamedBudget, schemas.BudgetSum, bool) (schemas.BudgetHold, *schemas.BudgetRefusal, error) {
	return schemas.BudgetHold{}, nil, errors.New("away")
}

func TestBook_StoreAway(t *testing.T) {
	service := new(model)
	limited := config.Budgets{All: schemas.Budget{Per: schemas.PerMonth, Tokens: 50}}
	for _, test := range []struct {
		budgets config.Budgets
		want    error
	}{{limited, agent.ErrStore}, {config.Budgets{}, nil}} { // without budgets the store is not asked
		book, err := budget.New(budget.Config{Budgets: test.budgets, Store: broken{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, book.Meter(service, nil), ""); !errors.Is(err, test.want) {
			t.Errorf("got %v, want %v", err, test.want)
		}
	}
	if service.calls != 1 {
		t.Errorf("the model was asked %d times", service.calls)
	}
}

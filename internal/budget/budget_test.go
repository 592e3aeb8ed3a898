package budget_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	// waits, if set, is called before any output.
	waits func()
}

func (*model) Name() string { return "openai" }

func (m *model) Stream(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		m.calls++
		if m.waits != nil {
			m.waits()
		}
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

// Visitors have budgets of their own, each and together, and one line on the bill. What a warning says is
// not their concern.
func TestBook_Visitors(t *testing.T) {
	const one, two, three = "visitor:1111", "visitor:2222", "visitor:3333"
	book, db := openBook(t, config.Budgets{
		Visitor: schemas.Budget{Per: schemas.PerDay, Tokens: 50},
		Public:  schemas.Budget{Per: schemas.PerMonth, Tokens: 140},
		Person:  schemas.Budget{Per: schemas.PerDay, Tokens: 1},
		Key:     schemas.Budget{Per: schemas.PerDay, Tokens: 1},
	})
	metered := book.Meter(new(model), nil)
	for _, tt := range []struct{ owner, refused string }{
		{one, ""},
		{one, ""},
		{one, "today's budget of yours is used up"},
		{two, ""},
		{two, ""},
		{three, "this month's budget of all visitors is used up"},
		{"operator", ""},
	} {
		warning, err := ask(t, metered, tt.owner)
		if warning != "" || (err == nil) != (tt.refused == "") || err != nil && !strings.HasPrefix(err.Error(), tt.refused) {
			t.Errorf("%s: %q, %v; want %q", tt.owner, warning, err, tt.refused)
		}
	}
	if sum := used(t, book, db, schemas.Visitors); sum.Calls != 4 || sum.Prompt != 120 {
		t.Errorf("on the bill of visitors: %+v", sum)
	}
	for _, owner := range []string{one, two, three} {
		if sum := used(t, book, db, owner); sum.Calls != 0 {
			t.Errorf("%s has a bill: %+v", owner, sum)
		}
		if _, ok := book.Groups(owner); ok {
			t.Errorf("the groups of %s are remembered", owner)
		}
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

// openBook returns a book of budgets over a database of its own.
func openBook(t *testing.T, budgets config.Budgets) (*budget.Book, *store.DB) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	book, err := budget.New(budget.Config{Budgets: budgets, Store: db})
	if err != nil {
		t.Fatal(err)
	}
	return book, db
}

// used returns what is on the bill of an owner, calls of all models together.
func used(t *testing.T, book *budget.Book, db *store.DB, owner string) (sum schemas.UsageSum) {
	t.Helper()
	if err := book.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, err := db.UsageOf(t.Context(), owner, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		sum = sum.Add(l.UsageSum)
	}
	return sum
}

// A call that is stopped before its first word has cost its prompt. Otherwise somebody could ask for
// free, and stop each time before the answer.
func TestBook_Stopped(t *testing.T) {
	t.Parallel()
	book, db := openBook(t, config.Budgets{Person: schemas.Budget{Per: schemas.PerMonth, Tokens: 1_000}})
	ctx, stop := context.WithCancel(t.Context())
	service := &model{fails: context.Canceled, waits: stop}
	req := providers.Request{Pass: providers.PassAnswer, Model: "m", System: strings.Repeat("x", 3_000), MaxTokens: 10, Payer: providers.Payer{Owner: "person:ann"}}
	for _, err := range book.Meter(service, nil).Stream(ctx, req) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if got := used(t, book, db, "person:ann"); got.Calls != 1 || got.Prompt < 1_000 || got.Completion != 0 {
		t.Errorf("on the bill is %+v", got)
	}
	service.waits = nil
	if _, err := ask(t, book.Meter(service, nil), "person:ann"); providers.KindOf(err) != providers.KindBudget {
		t.Errorf("the next question: %v", err)
	}
	for _, err := range book.Meter(service, nil).Stream(ctx, req) { // nobody waits for it
		if !errors.Is(err, context.Canceled) || errors.Is(err, agent.ErrStore) {
			t.Error(err)
		}
	}
}

// Where money is counted, a model whose price nobody knows is not asked; one that costs nothing is.
func TestBook_UnknownPrice(t *testing.T) {
	t.Parallel()
	book, db := openBook(t, config.Budgets{Key: schemas.Budget{Per: schemas.PerMonth, Money: 1}})
	price := func(model string) schemas.Price {
		if model == "m" {
			return schemas.Price{}
		}
		return schemas.Price{Input: 1}
	}
	service := new(model)
	if _, err := ask(t, book.Meter(service, price), "key_1"); providers.KindOf(err) != providers.KindInvalid || !strings.Contains(err.Error(), "has no price") || service.calls != 0 {
		t.Errorf("a model without a price: %v, %d calls", err, service.calls)
	}
	for owner, p := range map[string]func(string) schemas.Price{"key_1": nil, "person:ann": price} { // it is free, or no budget of theirs counts money
		if _, err := ask(t, book.Meter(service, p), owner); err != nil {
			t.Errorf("%s: %v", owner, err)
		}
	}
	err := book.Charge(t.Context(), &providers.Request{Model: "n", Payer: providers.Payer{Owner: "key_1"}}, "openai", price, func(context.Context) (*schemas.Usage, error) {
		return &schemas.Usage{PromptTokens: 1_000_000}, nil
	})
	if got := used(t, book, db, "key_1"); err != nil || got.Calls != 2 || got.Cost != schemas.NewCost(1) {
		t.Errorf("on the bill is %+v, %v", got, err)
	}
	err = book.Charge(t.Context(), &providers.Request{Model: "n", Payer: providers.Payer{Owner: "key_1"}}, "openai", price, nil)
	if providers.KindOf(err) != providers.KindBudget {
		t.Errorf("one call more: %v", err)
	}
}

// People read of a budget in the language of the conversation, with the date as they write it.
func TestBook_Languages(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "m.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	day, month := schemas.Budget{Per: schemas.PerDay, Tokens: 45}, schemas.Budget{Per: schemas.PerMonth, Tokens: 45}
	for _, test := range []struct {
		language, want string
		budgets        config.Budgets
	}{
		{"vi", "ngân sách hôm nay của bạn đã dùng hết; ngân sách mới bắt đầu lúc 00:00 ngày 30 tháng 11 (giờ UTC)", config.Budgets{Person: day}},
		{"vi", "ngân sách tháng này đã dùng hết; ngân sách mới bắt đầu lúc 00:00 ngày 1 tháng 12 (giờ UTC)", config.Budgets{All: month}},
		{"vi", "ngân sách tháng này của nhóm staff đã dùng hết; ngân sách mới bắt đầu lúc 00:00 ngày 1 tháng 12 (giờ UTC)", config.Budgets{Group: month}},
		{"en", "this month's budget of the group staff is used up; it begins anew on 1 December 00:00 UTC", config.Budgets{Group: month}},
		{"other", "today's budget of yours is used up; it begins anew on 30 November 00:00 UTC", config.Budgets{Person: day}},
	} {
		book, err := budget.New(budget.Config{Budgets: test.budgets, Store: db})
		if err != nil {
			t.Fatal(err)
		}
		req := providers.Request{Model: "m", MaxTokens: 1, Payer: providers.Payer{Owner: "person:ann", Groups: []string{"staff"}, Language: test.language}}
		for range 2 {
			for _, fault := range book.Meter(new(model), nil).Stream(t.Context(), req) {
				err = fault
			}
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.language, err, test.want)
		}
	}
}

// A warning is in the language of the conversation too.
func TestBook_WarnsInVietnamese(t *testing.T) {
	t.Parallel()
	book, _ := openBook(t, config.Budgets{Person: schemas.Budget{Per: schemas.PerMonth, Tokens: 56}})
	req := providers.Request{Pass: providers.PassAnswer, Model: "m", MaxTokens: 1, Payer: providers.Payer{Owner: "person:ann", Language: "vi"}}
	warning := ""
	for range 2 {
		for chunk, err := range book.Meter(new(model), nil).Stream(t.Context(), req) {
			if err != nil {
				t.Error(err)
			}
			warning += chunk.Warning
		}
	}
	if want := "đã dùng 80% ngân sách tháng này của bạn; ngân sách mới bắt đầu lúc 00:00 ngày 1 tháng "; !strings.HasPrefix(warning, want) {
		t.Errorf("warned %q, want %q", warning, want)
	}
}

// unsteady reserves but loses the answer, and settles at the second try.
type unsteady struct {
	renewals
	settled []string
	tries   int
	loses   bool
}

func (u *unsteady) TakeBudget(context.Context, []schemas.NamedBudget, schemas.BudgetSum, bool) (hold schemas.BudgetHold, _ *schemas.BudgetRefusal, err error) {
	if u.loses {
		err = errors.New("lost")
	}
	return schemas.BudgetHold{ID: "one", Periods: map[string]time.Time{"all": {}}}, nil, err
}

func (u *unsteady) SettleBudget(_ context.Context, hold schemas.BudgetHold, used schemas.BudgetSum) error {
	if u.tries++; u.tries == 1 {
		return errors.New("away")
	}
	u.settled = append(u.settled, fmt.Sprint(hold.ID, " ", used.Tokens))
	return nil
}

// What the store does not settle at once it settles later, and a reservation whose answer was lost is
// given back, rather than that it stands in the way until it expires.
func TestBook_SettlesLater(t *testing.T) {
	for loses, want := range map[bool]string{false: "one 45", true: "one 0"} {
		synctest.Test(t, func(t *testing.T) {
			kept := &unsteady{loses: loses}
			book, err := budget.New(budget.Config{Budgets: config.Budgets{All: schemas.Budget{Per: schemas.PerMonth, Tokens: 50}}, Store: kept})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { book.Run(ctx) })
			if _, err := ask(t, book.Meter(new(model), nil), "person:ann"); (err != nil) != loses {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			stop()
			running.Wait()
			if !slices.Equal(kept.settled, []string{want}) || kept.n.Load() != 0 {
				t.Errorf("settled %q, want %q; renewed %d times", kept.settled, want, kept.n.Load())
			}
		})
	}
}

// renewals counts how often reservations are renewed.
type renewals struct {
	budget.Store
	n atomic.Int64
}

func (r *renewals) TakeBudget(context.Context, []schemas.NamedBudget, schemas.BudgetSum, bool) (schemas.BudgetHold, *schemas.BudgetRefusal, error) {
	return schemas.BudgetHold{ID: "one"}, nil, nil
}

func (r *renewals) SettleBudget(context.Context, schemas.BudgetHold, schemas.BudgetSum) error {
	return nil
}

func (r *renewals) RenewBudgets(_ context.Context, holds []string) error {
	if slices.Equal(holds, []string{"one"}) {
		r.n.Add(1)
	}
	return nil
}

func (r *renewals) AddUsage(context.Context, []schemas.UsageLine) error { return nil }

// The reservation of a call is renewed while it runs, and only then.
func TestBook_Renews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := new(renewals)
		book, err := budget.New(budget.Config{Budgets: config.Budgets{All: schemas.Budget{Per: schemas.PerMonth, Tokens: 50}}, Store: kept})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { book.Run(ctx) })
		service := &model{waits: func() { time.Sleep(time.Hour) }}
		if _, err := ask(t, book.Meter(service, nil), "person:ann"); err != nil {
			t.Error(err)
		}
		at := kept.n.Load()
		time.Sleep(time.Hour)
		stop()
		running.Wait()
		if after := kept.n.Load() - at; at < 12 || after > 1 {
			t.Errorf("the reservation was renewed %d times in the hour of the call, and %d times after it", at, after)
		}
	})
}

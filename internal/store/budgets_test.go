package store_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/internal/store/storetest"
	"molar/schemas"
)

// bothDatabases runs a test on SQLite and on PostgreSQL. The func opens one database any number of
// times.
func bothDatabases(t *testing.T, test func(t *testing.T, open func(now func() time.Time) *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "m.db")
		test(t, func(now func() time.Time) *store.DB { return openConfig(t, store.Config{Path: path, Now: now}) })
	})
	t.Run("postgres", func(t *testing.T) {
		url := storetest.StartPostgres(t).Database(t)
		test(t, func(now func() time.Time) *store.DB { return openConfig(t, store.Config{Path: url, Now: now}) })
	})
}

// TestBudgets_Hammer lets three stores take from one budget at once: what is settled exceeds the limit
// by less than one call.
func TestBudgets_Hammer(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open func(func() time.Time) *store.DB) {
		const limit, call = 1005, 20
		budgets := []schemas.NamedBudget{
			{Name: "person:1", Budget: schemas.Budget{Per: schemas.PerDay, Tokens: 10 * limit}},
			{Name: "all", Budget: schemas.Budget{Per: schemas.PerMonth, Tokens: limit}},
		}
		var settled, refused atomic.Int64
		var group sync.WaitGroup
		for range 3 {
			db := open(nil)
			for range 20 {
				group.Go(func() {
					for range 6 {
						hold, refusal, err := db.TakeBudget(t.Context(), budgets, schemas.BudgetSum{Tokens: call}, false)
						if err != nil {
							t.Error(err)
							return
						}
						if refusal != nil {
							refused.Add(1)
							continue
						}
						if err := db.SettleBudget(t.Context(), hold, schemas.BudgetSum{Tokens: call}); err != nil {
							t.Error(err)
						}
						settled.Add(call)
					}
				})
			}
		}
		group.Wait()
		if got := settled.Load(); got < limit || got >= limit+call || refused.Load() == 0 {
			t.Errorf("%d tokens were used of %d, with calls of %d; %d were refused", got, limit, call, refused.Load())
		}
	})
}

func TestBudgets(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open func(func() time.Time) *store.DB) {
		now := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
		db := open(func() time.Time { return now })
		month := []schemas.NamedBudget{{Name: "all", Budget: schemas.Budget{Per: schemas.PerMonth, Money: 1}}}
		half, ctx := schemas.BudgetSum{Cost: schemas.NewCost(0.45)}, t.Context()

		take := func() (schemas.BudgetHold, *schemas.BudgetRefusal) {
			t.Helper()
			hold, refusal, err := db.TakeBudget(ctx, month, half, true)
			if err != nil {
				t.Fatal(err)
			}
			return hold, refusal
		}
		settle := func(hold schemas.BudgetHold) {
			t.Helper()
			if err := db.SettleBudget(ctx, hold, half); err != nil {
				t.Fatal(err)
			}
		}
		first, _ := take()
		settle(first)
		second, _ := take()
		settle(second)
		third, _ := take() // 90 % are used
		fourth, refusal := take()
		if refusal == nil || !refusal.Held || len(second.Warn) != 0 || !cmp.Equal(third.Warn, []string{"all"}) {
			t.Fatalf("want a warning once, and a refusal as the rest is reserved: %+v %+v %+v %+v", second, third, fourth, refusal)
		}
		now = now.Add(11 * time.Minute) // the reservation expires, and the warning was given
		fifth, refusal := take()
		if refusal != nil || len(fifth.Warn) != 0 {
			t.Fatalf("want a call after a reservation expired, without a warning: %+v %+v", fifth, refusal)
		}
		settle(fifth)
		if _, refusal = take(); refusal == nil || refusal.Held || !refusal.Ends.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
			t.Fatalf("want a refusal until December: %+v", refusal)
		}
		now = time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC)
		if _, refusal = take(); refusal != nil {
			t.Errorf("want a new budget in December: %+v", refusal)
		}
	})
}

// A call that runs for long keeps its reservation as long as it is renewed. One that settles twice, since
// the first answer was lost, counts once; one that settles after its reservation expired counts too.
func TestBudgets_LongCalls(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open func(func() time.Time) *store.DB) {
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		db, ctx := open(func() time.Time { return now }), t.Context()
		budgets := []schemas.NamedBudget{{Name: "all", Budget: schemas.Budget{Per: schemas.PerMonth, Tokens: 100}}}
		take := func(tokens int64) (schemas.BudgetHold, *schemas.BudgetRefusal) {
			t.Helper()
			hold, refusal, err := db.TakeBudget(ctx, budgets, schemas.BudgetSum{Tokens: tokens}, false)
			if err != nil {
				t.Fatal(err)
			}
			return hold, refusal
		}
		long, _ := take(100)
		for range 3 {
			now = now.Add(9 * time.Minute)
			if err := db.RenewBudgets(ctx, []string{long.ID, "unknown"}); err != nil {
				t.Fatal(err)
			}
			if _, refusal := take(1); refusal == nil || !refusal.Held {
				t.Fatalf("the reservation of a running call is gone: %+v", refusal)
			}
		}
		now = now.Add(11 * time.Minute) // its process stood still
		second, refusal := take(30)
		if refusal != nil {
			t.Fatal(refusal)
		}
		for _, hold := range []schemas.BudgetHold{long, second, long, second} {
			if err := db.SettleBudget(ctx, hold, schemas.BudgetSum{Tokens: 30}); err != nil {
				t.Fatal(err)
			}
		}
		last, refusal := take(1)
		if got := last.Used["all"]; refusal != nil || got != 0.6 {
			t.Errorf("the share %v is used, want 0.6: %+v", got, refusal)
		}
	})
}

// A warning that nobody was told, because the answer of the database was lost, comes with a later call.
func TestBudgets_WarnAgain(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open func(func() time.Time) *store.DB) {
		db := open(nil)
		budgets := []schemas.NamedBudget{{Name: "all", Budget: schemas.Budget{Per: schemas.PerMonth, Tokens: 100}}}
		for i, said := range []bool{true, false, true, true} {
			hold, refusal, err := db.TakeBudget(t.Context(), budgets, schemas.BudgetSum{Tokens: 1}, true)
			if err != nil || refusal != nil {
				t.Fatal(err, refusal)
			}
			if got, want := len(hold.Warn) > 0, i == 1 || i == 2; got != want {
				t.Errorf("call %d warns: %v", i, got)
			}
			used := int64(1)
			if i == 0 {
				used = 85
			}
			if said {
				hold.Warn = nil
			}
			if err := db.SettleBudget(t.Context(), hold, schemas.BudgetSum{Tokens: used}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestUsage(t *testing.T) {
	bothDatabases(t, func(t *testing.T, open func(func() time.Time) *store.DB) {
		db, ctx := open(nil), t.Context()
		line := func(day, owner string, tokens int64) schemas.UsageLine {
			return schemas.UsageLine{
				Day: day, Owner: owner, Groups: []string{"it"}, Assistant: "general", Provider: "openai", Model: "m",
				UsageSum: schemas.UsageSum{Calls: 1, Prompt: tokens, Completion: 1, Cost: 5},
			}
		}
		for _, l := range []schemas.UsageLine{line("2026-11-01", "person:ann", 3), line("2026-11-01", "person:ann", 4), line("2026-11-02", "person:bob", 5)} {
			if err := db.AddUsage(ctx, []schemas.UsageLine{l}); err != nil {
				t.Fatal(err)
			}
		}
		want := line("2026-11-01", "person:ann", 7)
		want.Calls, want.Completion, want.Cost = 2, 2, 10
		got, err := db.UsageOf(ctx, "person:ann", time.Time{})
		if diff := cmp.Diff([]schemas.UsageLine{want}, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		if _, err := db.ErasePerson(ctx, "person:ann"); err != nil {
			t.Fatal(err)
		}
		want.Owner = ""
		got, err = db.Usage(ctx, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
		if diff := cmp.Diff([]schemas.UsageLine{want, line("2026-11-02", "person:bob", 5)}, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if n, err := db.DropUsage(ctx, time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)); n != 1 || err != nil {
			t.Error(fmt.Sprint(n, " lines deleted "), err)
		}
	})
}

// BenchmarkBudgets reserves and settles one call in the budgets of a person, two groups and all: with one
// client, then with many people of the same groups at once.
func BenchmarkBudgets(b *testing.B) {
	stores(b, func(b *testing.B, db *store.DB, _ string) {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
				next := make(chan int)
				var group sync.WaitGroup
				for w := range clients {
					group.Go(func() {
						budgets := []schemas.NamedBudget{{Name: "all"}, {Name: "group:a"}, {Name: "group:b"}, {Name: fmt.Sprint("person:", w)}}
						for i := range budgets {
							budgets[i].Budget = schemas.Budget{Per: schemas.PerMonth, Tokens: 1 << 40}
						}
						for range next {
							hold, refusal, err := db.TakeBudget(b.Context(), budgets, schemas.BudgetSum{Tokens: 1}, true)
							if err != nil || refusal != nil {
								b.Error(refusal, err)
								continue
							}
							if err := db.SettleBudget(b.Context(), hold, schemas.BudgetSum{Tokens: 1}); err != nil {
								b.Error(err)
							}
						}
					})
				}
				for i := range b.N {
					next <- i
				}
				close(next)
				group.Wait()
			})
		}
	})
}

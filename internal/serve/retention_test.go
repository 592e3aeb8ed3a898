package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/internal/config"
	"molar/internal/store"
)

// Old conversations go at the start and then every hour, also after a failure; the end
// of ctx ends it.
func TestApplyRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ages := make(chan time.Duration, 10) // how long ago what goes was changed
		var running sync.WaitGroup
		running.Go(func() {
			deletes := func(_ context.Context, at time.Time) (int, error) {
				ages <- time.Since(at)
				return 1, errors.New("locked")
			}
			never := func(context.Context, time.Time) (int, error) {
				t.Error("deleted what is kept for ever")
				return 0, nil
			}
			applyRetention(ctx, slog.New(slog.DiscardHandler), retention{what: "things", deleteOlder: never}, retention{what: "things", age: 48 * time.Hour, deleteOlder: deletes})
		})
		synctest.Wait()
		if len(ages) != 1 {
			t.Fatalf("applied %d times at the start", len(ages))
		}
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		cancel()
		running.Wait()
		if len(ages) != 3 {
			t.Errorf("applied %d times in two hours, want 3", len(ages))
		}
		close(ages)
		for age := range ages {
			if age != 48*time.Hour {
				t.Errorf("deleted what is older than %s", age)
			}
		}
	})
}

func TestApplyRetention_ForEver(t *testing.T) {
	applyRetention(t.Context(), slog.New(slog.DiscardHandler), retention{what: "things", deleteOlder: func(context.Context, time.Time) (int, error) {
		t.Error("deleted")
		return 0, nil
	}})
}

// What visitors were promised holds to within a twenty-fourth, also when nothing is public any more.
func TestRetentions_Visitors(t *testing.T) {
	for kept, want := range map[time.Duration][2]time.Duration{
		config.Default().Public.Keep: {24 * time.Hour, time.Hour},
		time.Hour:                    {time.Hour, 150 * time.Second}, 720 * time.Hour: {720 * time.Hour, time.Hour}, 2 * time.Second: {2 * time.Second, time.Second},
	} {
		found := false
		for _, r := range retentions(&config.Config{Public: config.Public{Keep: kept}}, new(store.DB)) {
			if r.what == "conversations of visitors" {
				found = true
				if r.age != want[0] || r.every != want[1] {
					t.Errorf("kept for %v: those of %v every %v", kept, r.age, r.every)
				}
			}
		}
		if !found {
			t.Error("visitors are kept for ever")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer cancel()
		n := 0
		applyRetention(ctx, slog.New(slog.DiscardHandler), retention{what: "things", age: time.Minute, every: 10 * time.Second, deleteOlder: func(context.Context, time.Time) (int, error) {
			n++
			return 0, nil
		}})
		if n != 7 {
			t.Errorf("applied %d times in a minute, want 7", n)
		}
	})
}

package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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

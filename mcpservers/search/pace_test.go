package search

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A burst is sent at once, the next searches a second apart, and a search with too long a wait is
// refused at once.
func TestDuckDuckGo_TakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := newDuckDuckGo(DuckDuckGoConfig{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		results := make(chan error)
		const asked = searchBurst + 8
		for range asked {
			go func() { results <- d.wait(t.Context()) }()
		}
		refused := 0
		var waits []time.Duration
		for range asked {
			if err := <-results; err == nil {
				waits = append(waits, time.Since(start))
			} else if refused++; !strings.Contains(err.Error(), "try again in") || time.Since(start) != 0 {
				t.Errorf("after %s: %v", time.Since(start), err)
			}
		}
		if refused != 3 || waits[searchBurst-1] != 0 || waits[searchBurst] != time.Second || waits[len(waits)-1] != maxTurnWait {
			t.Errorf("%d refused, waits %v", refused, waits)
		}
	})
}

// A cancelled search leaves its place to the next.
func TestDuckDuckGo_GivesItsTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := newDuckDuckGo(DuckDuckGoConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for range searchBurst {
			if err := d.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.wait(ctx); err == nil || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		if err := d.wait(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("%v after %s, want 1s", err, time.Since(start))
		}
	})
}

package journal

import (
	"testing"
	"time"
)

// A process that was suspended, perhaps together with all others, first observes the ledger for a
// while.
func TestPulse(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var p pulse
	after := func(d time.Duration, want bool) {
		t.Helper()
		if now = now.Add(d); p.beat(now) != want {
			t.Errorf("at %s: %v", now.Format(time.TimeOnly), !want)
		}
	}
	for range 8 {
		after(time.Second, false)
	}
	after(time.Second, true)
	after(20*time.Second, false)
	after(gapFor, false)
	after(gapFor, true)
	after(-time.Minute, false) // the clock was set
}

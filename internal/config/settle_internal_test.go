package config

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A burst of events leads to one call, after a quiet period. Events without a pause cannot delay
// the call for ever.
func TestSettle(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name   string
		events []time.Duration // after the start
		calls  []time.Duration
	}{
		{"none", nil, nil},
		{"one", []time.Duration{0}, []time.Duration{200 * ms}},
		{"a burst", []time.Duration{0, 50 * ms, 60 * ms, 199 * ms}, []time.Duration{399 * ms}},
		{"two saves", []time.Duration{0, 500 * ms}, []time.Duration{200 * ms, 700 * ms}},
		{"without a pause", every(90*ms, 20), []time.Duration{1000 * ms, 1910 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				begin, events, ended := time.Now(), make(chan struct{}), make(chan struct{})
				var calls []time.Duration
				go func() {
					defer close(ended)
					settle(ctx, events, func() { calls = append(calls, time.Since(begin)) })
				}()
				for _, at := range tt.events {
					time.Sleep(at - time.Since(begin))
					events <- struct{}{}
				}
				time.Sleep(time.Minute)
				cancel()
				<-ended
				if len(calls) != len(tt.calls) {
					t.Fatalf("calls at %v, want %v", calls, tt.calls)
				}
				for i := range calls {
					if calls[i] != tt.calls[i] {
						t.Errorf("calls at %v, want %v", calls, tt.calls)
					}
				}
			})
		})
	}
}

func every(d time.Duration, n int) []time.Duration {
	at := make([]time.Duration, n)
	for i := range at {
		at[i] = time.Duration(i) * d
	}
	return at
}

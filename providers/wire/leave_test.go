package wire_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/chain"
)

// If the client leaves, at any time and in any way, the request to the service ends at once, and
// the error distinguishes a person who left from a deadline.
func TestLeaving(t *testing.T) {
	t.Parallel()
	soon := errors.New("the host stops")
	for name, does := range map[string]answering{
		"before the answer": mute,
		"before the text":   silent(),
		"in the answer":     silent(say("a")),
		"in an event":       silent(say("a"), half),
		"after a call":      silent(call),
		"between two tries": status(429, "slow down", "Retry-After", "30"),
	} {
		for _, w := range wires() {
			for how, leave := range map[string]struct {
				kind  providers.Kind
				cause error
			}{
				"cancelled": {providers.KindIncomplete, context.Canceled},
				"too late":  {providers.KindTimeout, context.DeadlineExceeded},
				"stopped":   {providers.KindIncomplete, soon},
			} {
				t.Run(w.name+"/"+name+"/"+how, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						n, p := w.serve(t, does)
						ctx, cancel := context.WithCancelCause(t.Context())
						if errors.Is(leave.cause, context.DeadlineExceeded) {
							late, end := context.WithTimeout(ctx, time.Second)
							defer end()
							ctx = late
						}
						time.AfterFunc(time.Second, func() { cancel(leave.cause) })
						start := time.Now()
						var last error
						finished := false
						for chunk, err := range chain.Again(p, 0).Stream(ctx, question()) {
							last, finished = err, finished || chunk.Finish != ""
						}
						if providers.KindOf(last) != leave.kind || !errors.Is(last, leave.cause) || finished || time.Since(start) != time.Second {
							t.Errorf("%v after %v", last, time.Since(start))
						}
						n.wantIdle(t)
						if asked := n.asked.Load(); asked != 1 {
							t.Errorf("%d requests", asked)
						}
					})
				})
			}
		}
	}
}

// A consumer that stops reading ends the request, and a slow consumer is waited for.
func TestConsumer(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n, p := w.serve(t, silent(say("a"), say("b")))
				_ = p.Stream(t.Context(), question())
				if n.asked.Load() != 0 {
					t.Error("it was asked before anybody listened")
				}
				for _, err := range p.Stream(t.Context(), question()) {
					if err != nil {
						t.Error(err)
					}
					break
				}
				n.wantIdle(t)

				_, p = w.serve(t, stream(say("a"), say("b"), end))
				text := ""
				for chunk, err := range p.Stream(t.Context(), question()) {
					if err != nil {
						t.Error(err)
					}
					text += chunk.Text
					time.Sleep(time.Hour)
				}
				if text != "ab" {
					t.Errorf("got %q", text)
				}
			})
		})
	}
}

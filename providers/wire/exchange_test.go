package wire_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers/wire"
)

// script is a body that returns a byte after each pause, and then nothing until its context ends.
type script struct {
	ctx    context.Context //nolint:containedctx // of the request
	pauses []time.Duration
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.pauses) == 0 {
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	}
	select {
	case <-time.After(s.pauses[0]):
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	s.pauses = s.pauses[1:]
	p[0] = '.'
	return 1, nil
}

func (s *script) Close() error { return nil }

// The deadlines of an exchange: for the first output, then for each wait for more, without the
// consumer's time.
func TestExchange_Limits(t *testing.T) {
	t.Parallel()
	const first, idle = 180 * time.Second, 20 * time.Second
	for name, c := range map[string]struct {
		pauses []time.Duration
		until  time.Duration // 0: no deadline
		output bool          // each byte counts as output
		works  time.Duration // of the consumer, after each byte
		cause  error
		took   time.Duration
	}{
		"nothing":               {cause: wire.ErrNoOutput, took: first},
		"nothing, and late":     {until: 30 * time.Second, cause: wire.ErrNoOutput, took: 30 * time.Second},
		"too late already":      {until: -time.Second, cause: wire.ErrNoOutput},
		"bytes are no output":   {pauses: []time.Duration{100 * time.Second, 70 * time.Second}, cause: wire.ErrNoOutput, took: first},
		"then silence":          {pauses: []time.Duration{170 * time.Second}, output: true, cause: wire.ErrStalled, took: 190 * time.Second},
		"steady":                {pauses: []time.Duration{19 * time.Second, 19 * time.Second, 19 * time.Second}, output: true, cause: wire.ErrStalled, took: 77 * time.Second},
		"the consumer may work": {pauses: []time.Duration{time.Second, time.Second}, output: true, works: time.Hour, cause: wire.ErrStalled, took: 2*time.Hour + 22*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var until time.Time
				if c.until != 0 {
					until = start.Add(c.until)
				}
				ctx, x := wire.Begin(t.Context(), wire.Limits{First: first, Idle: idle}, until)
				defer x.End()
				body := x.Watch(&script{ctx, c.pauses})
				var one [1]byte
				for {
					if _, err := body.Read(one[:]); err != nil {
						break
					}
					if c.output {
						x.Output()
					}
					time.Sleep(c.works)
				}
				if took := time.Since(start); !errors.Is(context.Cause(ctx), c.cause) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", context.Cause(ctx), took, c.cause, c.took)
				}
			})
		})
	}
}

// Bytes without output do not extend the deadline.
func TestExchange_TrickleIsNoOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, x := wire.Begin(t.Context(), wire.Limits{First: time.Minute, Idle: 20 * time.Second}, time.Time{})
		defer x.End()
		x.Output()
		start := time.Now()
		pauses := make([]time.Duration, 60)
		for i := range pauses {
			pauses[i] = time.Second
		}
		_, err := io.Copy(io.Discard, x.Watch(&script{ctx, pauses}))
		if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 20*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

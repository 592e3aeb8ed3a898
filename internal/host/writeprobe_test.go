package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent/memory"
	"molar/schemas"
)

// The outcome of a probe stands for two seconds, a probe that hangs is given up after as
// long, and nobody who asks is told where the store is.
func TestWriteProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var fault error
		probes, hang := 0, false
		p := writeProbe{
			log:     slog.New(slog.NewTextHandler(&log, nil)),
			release: func(context.Context, schemas.Lease) error { return nil },
			begin: func(ctx context.Context, r memory.BeginRequest) (schemas.Opening, error) {
				probes++
				if hang {
					<-ctx.Done()
					return schemas.Opening{}, ctx.Err()
				}
				if !strings.HasPrefix(r.ConversationID, probePrefix) {
					t.Errorf("probed with %q", r.ConversationID)
				}
				return schemas.Opening{}, fault
			},
		}
		if err := p.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		fault = errors.New("/secret/place is full")
		if err := p.check(t.Context()); err != nil || probes != 1 {
			t.Errorf("at once: %v, %d probes", err, probes)
		}
		time.Sleep(probeEvery)
		for range 2 {
			if err := p.check(t.Context()); !errors.Is(err, errNoWrites) || strings.Contains(err.Error(), "secret") || probes != 2 {
				t.Errorf("full: %v, %d probes", err, probes)
			}
		}
		if !strings.Contains(log.String(), "/secret/place") {
			t.Errorf("log %q", log.String())
		}
		fault = nil
		time.Sleep(probeEvery)
		if err := p.check(t.Context()); err != nil {
			t.Errorf("mended: %v", err)
		}
		hang = true
		time.Sleep(probeEvery)
		began := time.Now()
		if err := p.check(t.Context()); err == nil || time.Since(began) != probeEvery {
			t.Errorf("hanging: %v after %v", err, time.Since(began))
		}
	})
}

package models

import (
	"context"
	"errors"
	"time"
)

// errCut ends a stream that the script cuts off.
var errCut = errors.New("cut by the script")

// An answer writes one reply in a wire format. Its methods are called from one goroutine; an
// error means that the client has disconnected.
type answer interface {
	refuse(r *Reply) error
	token(text string) error
	calls(calls []Call) error
	done(reason string, tokens int) error
}

// play sends a reply at the configured pace. It returns errCut if the script cuts the answer off,
// and another error if the client disconnects.
func (s *Server) play(ctx context.Context, r *Reply, a answer) error {
	if err := pause(ctx, s.cfg.FirstToken); err != nil {
		return err
	}
	if r.Status != 0 {
		return a.refuse(r)
	}
	if r.CutAfter < 0 {
		return errCut
	}
	for i, token := range r.Tokens {
		if i > 0 {
			if err := pause(ctx, s.cfg.Interval); err != nil {
				return err
			}
		}
		if err := a.token(token); err != nil {
			return err
		}
		if i+1 == r.CutAfter {
			return errCut
		}
	}
	if len(r.Calls) > 0 {
		if err := a.calls(r.Calls); err != nil {
			return err
		}
	}
	return a.done(r.Reason, len(r.Tokens))
}

// pause waits for d, or until the client disconnects.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

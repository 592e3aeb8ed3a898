package mcpclients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"molar/schemas"
)

const (
	// A server that is down is tried after retryFirst, then every retrySoon for
	// retrySoonFor, then after waits that double up to retryMax.
	retryFirst   = 500 * time.Millisecond
	retrySoon    = time.Second
	retrySoonFor = time.Minute
	retryMax     = time.Minute
	// healthyAfter is how long a server must have been ready for all this to start
	// over.
	healthyAfter = time.Minute
)

// An outage counts the failures of a server since it was last healthy.
type outage struct {
	began    time.Time
	failures int
	slow     int // failures since the quick tries ended
}

// wait returns how long to wait after one more failure.
func (o *outage) wait() time.Duration {
	o.failures++
	switch {
	case o.failures == 1:
		o.began = time.Now()
		return jitter(retryFirst)
	case time.Since(o.began) < retrySoonFor:
		return jitter(retrySoon)
	default:
		o.slow++
		return jittered(o.slow + 1)
	}
}

// jittered is a wait that doubles with the given number, from one second on.
func jittered(n int) time.Duration {
	wait := retryMax
	if n < 8 {
		wait = min(wait, time.Second<<(n-1))
	}
	return jitter(wait)
}

// jitter is up to 20 % more or less than wait.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter is no secret
}

// supervise owns the server until ctx ends: it attaches it, follows its tools and
// attaches it again after a crash.
func (s *server) supervise(ctx context.Context) {
	defer s.end()
	wasReady := false
	var down outage
	for ctx.Err() == nil {
		conn, info, err := s.attach(ctx)
		attached := err == nil
		if attached {
			wasReady = true
			ready := time.Now()
			err = s.serve(ctx, conn, info)
			if time.Since(ready) >= healthyAfter {
				down = outage{}
			}
		}
		if ctx.Err() != nil {
			return
		}
		wait, retries := s.verdict(err, wasReady, &down)
		s.log.Warn("MCP server is not attached", "error", err, "retries", retries)
		s.update(func(st *schemas.ServerStatus) {
			st.State, st.Reason = schemas.StateFailed, s.explain(err, wait, wasReady)
			if wasReady && retries {
				st.State = schemas.StateBackoff
			}
			s.final = !retries
			if !attached {
				s.attempts++
			}
		})
		if !retries {
			return
		}
		s.rest(ctx, wait)
	}
}

// verdict decides what follows a failure: another attempt after wait (negative:
// only when a caller wants the server), or none.
func (s *server) verdict(err error, wasReady bool, down *outage) (wait time.Duration, retries bool) {
	_, isPermanent := errors.AsType[*permanentError](err)
	wait = down.wait()
	switch {
	case isPermanent:
		return 0, false
	case wasReady && down.failures == 1 && errors.Is(err, ErrSession):
		return 0, true
	case wasReady, overWeb(s.config().transport()):
		return wait, true
	default:
		return -1, true
	}
}

// explain is the sentence for a person: what happened and what to do.
func (s *server) explain(err error, wait time.Duration, wasReady bool) string {
	if _, isPermanent := errors.AsType[*permanentError](err); isPermanent {
		return err.Error()
	}
	switch place := "mcpServers." + s.name; {
	case wasReady:
		return fmt.Sprintf("%v: trying again in %s", err, wait.Round(100*time.Millisecond))
	case overWeb(s.config().transport()):
		return fmt.Sprintf("%v: start the server or correct %s.url, the host keeps trying", err, place)
	default:
		return fmt.Sprintf("%v: repair the server or correct %s", err, place)
	}
}

// rest waits for the next attempt; a caller that wants the server ends it early.
func (s *server) rest(ctx context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-s.kick:
	case <-ctx.Done():
	}
}

// end leaves a server that is no longer supervised in a state that says so.
func (s *server) end() {
	s.mu.Lock()
	s.final = true
	s.tools, s.status.Tools = nil, 0
	s.mu.Unlock()
	s.publish()
	s.update(func(st *schemas.ServerStatus) {
		if st.State != schemas.StateFailed {
			st.State, st.Reason = schemas.StateStopping, s.stopReason()
		}
	})
}

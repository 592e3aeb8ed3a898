package mcpclients

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// retryRefused is how long a persistent server that refused is left alone.
	retryRefused = 10 * time.Second
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
	if s.login != nil {
		defer s.login.Close()
	}
	wasReady, said := false, ""
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
		refused := isPermanent(err)
		level := slog.LevelWarn
		if refused && err.Error() == said {
			level = slog.LevelDebug // the same every 10 s says nothing new
		}
		said = err.Error()
		s.log.Log(ctx, level, "MCP server is not attached", "error", err, "retries", retries)
		s.update(func(st *schemas.ServerStatus) {
			st.State, st.Reason = schemas.StateFailed, s.explain(err, wait, wasReady)
			if wasReady && retries && !refused {
				st.State = schemas.StateBackoff
			}
			s.final = refused
			if !attached {
				s.attempts++
			}
		})
		switch {
		case retries:
			s.rest(ctx, wait, refused)
		case asLogin(err) == nil || !s.awaitLogin(ctx):
			return
		}
	}
}

// verdict decides what follows a failure: another attempt after wait (negative:
// only when a caller wants the server), or none.
func (s *server) verdict(err error, wasReady bool, down *outage) (wait time.Duration, retries bool) {
	wait = down.wait()
	switch {
	case isPermanent(err):
		return retryRefused, s.config().Persistent
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
	place := s.config().place()
	switch {
	case isPermanent(err) && s.config().Persistent:
		return fmt.Sprintf("%v; look at %s in the config and at what answers there, it is asked again every %s", err, place, wait)
	case isPermanent(err):
		return err.Error()
	case wasReady:
		return fmt.Sprintf("%v: trying again in %s", err, wait.Round(100*time.Millisecond))
	case overWeb(s.config().transport()):
		return fmt.Sprintf("%v: start the server or correct %s.url, the host keeps trying", err, place)
	default:
		return fmt.Sprintf("%v: repair the server or correct %s", err, place)
	}
}

// rest waits for the next attempt. A caller that wants the server ends it early, but
// not that of a server that refused: until it is over, callers are told so at once.
func (s *server) rest(ctx context.Context, wait time.Duration, refused bool) {
	kick := s.kick
	if refused {
		kick = nil
		defer s.update(func(*schemas.ServerStatus) { s.final = false })
	}
	var due <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-kick:
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

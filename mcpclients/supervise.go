package mcpclients

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"molar/mcpclients/transport"
	"molar/schemas"
)

const (
	// A server that is down is retried after retryFirst, then every retrySoon for retrySoonFor,
	// then after waits that double up to retryMax. A command that never came up is retried after
	// waits that double at once.
	retryFirst   = 500 * time.Millisecond
	retrySoon    = time.Second
	retrySoonFor = time.Minute
	retryMax     = time.Minute
	// retryRefused is how long to wait before retrying a needed server that refused.
	retryRefused = 10 * time.Second
	// healthyAfter is how long a server must have been ready for the waits to start over.
	healthyAfter = time.Minute
)

// loginEvery is how often the store of logins is checked for a server that requires one. Nothing
// is sent to the server meanwhile.
const loginEvery = 2 * time.Second

// An outage counts the failures of a server since it was last healthy.
type outage struct {
	began    time.Time
	failures int
	slow     int // failures since the quick retries ended
}

// wait returns how long to wait after one more failure. A retry is expensive if it starts a
// process that may never have worked.
func (o *outage) wait(expensive bool) time.Duration {
	o.failures++
	switch {
	case o.failures == 1:
		o.began = time.Now()
		return jitter(retryFirst)
	case !expensive && time.Since(o.began) < retrySoonFor:
		return jitter(retrySoon)
	default:
		o.slow++
		return jittered(o.slow + 1)
	}
}

// jittered returns a wait that doubles with n, from one second up, with jitter.
func jittered(n int) time.Duration {
	wait := retryMax
	if n < 8 {
		wait = min(wait, time.Second<<(n-1))
	}
	return jitter(wait)
}

// jitter varies wait by up to 20 %.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter is no secret
}

// Run supervises the server until ctx ends: it attaches it, watches its tools and reattaches it
// after a crash.
func (s *server) Run(ctx context.Context) {
	defer s.end()
	if s.seats != nil {
		s.seats.serve(ctx)
		return
	}
	if s.login != nil {
		defer s.login.Close()
	}
	lastError := ""
	var down outage
	for ctx.Err() == nil {
		conn, info, err := s.attach(ctx)
		attached := err == nil
		if attached {
			ready := time.Now()
			err = s.serve(ctx, conn, info)
			if time.Since(ready) >= healthyAfter {
				down = outage{}
			}
		}
		if ctx.Err() != nil {
			return
		}
		wasReady := s.Look().wasReady
		wait, retries := s.verdict(err, wasReady, &down)
		refused, lastNews := transport.IsPermanent(err), transport.AskedToWait(err) > 0
		level := slog.LevelWarn
		if err.Error() == lastError || s.settings.OnePerson && transport.AsLogin(err) != nil {
			level = slog.LevelDebug // repeats are not news, and a login is a matter of its person
		}
		lastError = err.Error()
		if refused {
			s.shelf.Clear()
		}
		s.log.Log(ctx, level, "MCP server is not attached", "error", err, "retries", retries)
		s.update(func(now *look) {
			now.State, now.Reason = schemas.StateFailed, s.explain(err, wait, wasReady)
			if wasReady && retries && !refused {
				now.State = schemas.StateBackoff
			}
			now.final, now.needsLogin = refused || lastNews, transport.AsLogin(err) != nil
			if !attached {
				now.attempts++
			}
		})
		switch {
		case retries:
			s.rest(ctx, wait, refused || lastNews)
		case transport.AsLogin(err) == nil || !s.awaitLogin(ctx):
			return
		}
	}
}

// verdict decides what follows a failure: another attempt after wait, or none.
func (s *server) verdict(err error, wasReady bool, down *outage) (wait time.Duration, retries bool) {
	flood, flooded := errors.AsType[*transport.FloodError](err)
	if flooded {
		s.warning = fmt.Sprintf("it was cut off and started again: %v", flood)
	}
	wait = down.wait(flooded || !wasReady && !transport.OverWeb(s.Config().Transport()))
	switch {
	case transport.IsPermanent(err):
		return retryRefused, s.Config().Needed()
	case wasReady && down.failures == 1 && errors.Is(err, transport.ErrSession):
		return 0, true
	default:
		return max(wait, transport.AskedToWait(err)), true
	}
}

// explain returns the text for a person: what happened and what to do.
func (s *server) explain(err error, wait time.Duration, wasReady bool) string {
	place := s.Config().Place()
	_, advised := errors.AsType[*transport.AdvisedError](err)
	text := err.Error()
	promise := func(separator, what string) string {
		if s.settings.Once {
			return ""
		}
		return separator + what
	}
	const keeps = "the host keeps trying"
	switch {
	case transport.IsPermanent(err) && s.Config().Needed():
		return text + "; look at " + place + " in the config and at what answers there" + promise(", ", fmt.Sprintf("it is asked again every %s", wait))
	case transport.IsPermanent(err):
		return text
	case wasReady:
		return text + promise(": ", fmt.Sprintf("trying again in %s", wait.Round(100*time.Millisecond)))
	case advised:
		return text + promise("; ", keeps)
	case transport.OverWeb(s.Config().Transport()):
		return text + ": start the server or correct " + place + ".url" + promise(", ", keeps)
	default:
		return text + ": repair the server or correct " + place + promise(", ", keeps)
	}
}

// rest waits for the next attempt. A caller that needs the server ends the wait early, unless the
// server refused or asked to wait: until then callers get an error at once.
func (s *server) rest(ctx context.Context, wait time.Duration, mustWait bool) {
	kick := s.kick
	if mustWait {
		kick = nil
		defer s.update(func(now *look) { now.final = false })
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-kick:
	case <-ctx.Done():
	}
}

// end puts a server that is no longer supervised into its final state.
func (s *server) end() {
	s.shelf.Clear()
	s.update(func(now *look) {
		now.final, now.needsLogin = true, false // nobody looks for a login any more
		if now.State != schemas.StateFailed {
			now.State, now.Reason = schemas.StateStopping, s.stopReason()
		}
	})
}

// awaitLogin waits until the store holds a login that the server has not refused; false means
// that ctx ended.
func (s *server) awaitLogin(ctx context.Context) bool {
	ticker := time.NewTicker(loginEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.kick:
		case <-ctx.Done():
			return false
		}
		if !s.login.Fresh(ctx) {
			continue
		}
		s.log.Info("logged in to the MCP server")
		s.update(func(now *look) {
			now.final, now.needsLogin = false, false
			now.State, now.Reason = schemas.StateStarting, "the server is being started again, with a login"
		})
		return true
	}
}

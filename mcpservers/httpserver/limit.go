package httpserver

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"molar/mcpservers"
)

// manyClients is how many addresses are remembered before the idle ones are
// forgotten.
const manyClients = 1024

// A limiter holds every client address to a number of calls a second, with a burst
// of one second's calls. A batch may go into debt, which later calls wait for.
type limiter struct {
	rate float64 // calls a second; 0 for no limit
	now  func() time.Time
	mu   sync.Mutex
	left map[string]allowance
}

// An allowance is how many calls were left at a time.
type allowance struct {
	calls float64
	at    time.Time
}

func newLimiter(rate int, now func() time.Time) *limiter {
	if rate == 0 {
		rate = DefaultRate
	}
	return &limiter{rate: math.Max(0, float64(rate)), now: now, left: map[string]allowance{}}
}

// take counts calls of a client. Zero means that they pass, else it says after how
// long to try again.
func (l *limiter) take(client string, calls int) time.Duration {
	if l.rate == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	have, known := l.left[client]
	if !known {
		l.forget(now)
		have = allowance{l.rate, now}
	}
	have.calls = min(l.rate, have.calls+l.rate*now.Sub(have.at).Seconds())
	have.at = now
	wait := time.Duration(0)
	if have.calls < 1 {
		wait = time.Duration((1 - have.calls) / l.rate * float64(time.Second))
	} else {
		have.calls -= float64(calls)
	}
	l.left[client] = have
	return wait
}

// forget drops the clients that have all their calls again.
func (l *limiter) forget(now time.Time) {
	if len(l.left) < manyClients {
		return
	}
	for client, have := range l.left {
		if have.calls+l.rate*now.Sub(have.at).Seconds() >= l.rate {
			delete(l.left, client)
		}
	}
}

// allow counts calls of a request, and answers it when there were too many.
func (s *Server) allow(w http.ResponseWriter, r *http.Request, id []byte, calls int) bool {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	wait := s.limit.take(client, calls)
	if wait == 0 {
		return true
	}
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	writeJSON(w, http.StatusTooManyRequests, mcpservers.Fail(id, &mcpservers.RPCError{
		Code:    mcpservers.CodeTooMany,
		Message: fmt.Sprintf("Too many requests: %g calls a second are allowed, try again in %d s", s.limit.rate, seconds),
	}))
	return false
}

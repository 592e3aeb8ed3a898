package httpguard

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// manyClients is how many clients a [Limiter] remembers.
const manyClients = 4096

// A Limiter limits every client to a number of calls a second. It is safe for concurrent use,
// and remembers a limited number of clients: beyond that it drops those with a full allowance,
// else the least recently seen one.
type Limiter struct {
	rate  rate.Limit
	burst int
	now   func() time.Time
	mu    sync.Mutex
	known map[string]*client
}

type client struct {
	calls *rate.Limiter
	last  time.Time
}

// NewLimiter returns a limiter of perSecond calls, burst of which may come at once.
// A nil clock means time.Now.
func NewLimiter(perSecond float64, burst int, now func() time.Time) (*Limiter, error) {
	if perSecond <= 0 || burst < 1 {
		return nil, fmt.Errorf("limit of %v calls a second, %d at once: both must be above zero", perSecond, burst)
	}
	if now == nil {
		now = time.Now
	}
	return &Limiter{rate: rate.Limit(perSecond), burst: burst, now: now, known: map[string]*client{}}, nil
}

// Take counts calls of a client. Zero means that they pass, else it returns how long to wait.
// Several calls at once pass if one does; the excess is charged to later calls. A nil Limiter
// lets everything pass.
func (l *Limiter) Take(name string, calls int) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	c, ok := l.known[name]
	if !ok {
		l.makeRoom(now)
		c = &client{calls: rate.NewLimiter(l.rate, l.burst)}
		l.known[name] = c
	}
	c.last = now
	if left := c.calls.TokensAt(now); left < 1 {
		return time.Duration((1 - left) / float64(l.rate) * float64(time.Second))
	}
	for calls > 0 {
		some := min(calls, l.burst)
		c.calls.ReserveN(now, some)
		calls -= some
	}
	return 0
}

// makeRoom drops clients until there is room for one more.
func (l *Limiter) makeRoom(now time.Time) {
	if len(l.known) < manyClients {
		return
	}
	oldest := ""
	for name, c := range l.known {
		if c.calls.TokensAt(now) >= float64(l.burst) {
			delete(l.known, name)
		} else if oldest == "" || c.last.Before(l.known[oldest].last) {
			oldest = name
		}
	}
	if len(l.known) >= manyClients {
		delete(l.known, oldest)
	}
}

// Refuse counts one call of a client and returns the refusal if there were too many; what
// names the calls in it, such as "turns a minute".
func (l *Limiter) Refuse(name, what string) *Refusal {
	wait := l.Take(name, 1)
	if wait == 0 {
		return nil
	}
	return TooMany(wait, what)
}

// TooMany returns the refusal of a client that must wait.
func TooMany(wait time.Duration, what string) *Refusal {
	return &Refusal{
		Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded",
		Message:    fmt.Sprintf("too many requests: %s; try again in %d s", what, int(wait/time.Second)+1),
		RetryAfter: wait,
	}
}

// errProxy is the error of a trusted proxy that is not an address.
var errProxy = errors.New(`want an address or a range such as "10.0.0.0/8"`)

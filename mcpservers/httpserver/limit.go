package httpserver

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"molar/internal/httpguard"
	"molar/mcpservers"
)

// hostFactor is how many times the rate a host may call that no key tells from others.
const hostFactor = 50

// burst is for how many seconds' calls may come at once: a client makes several in a turn.
const burst = 5

// newLimiter holds each client to rate calls a second; nil means no bound.
func newLimiter(rate int, now func() time.Time) (*httpguard.Limiter, error) {
	if rate < 0 {
		return nil, nil //nolint:nilnil // a nil limiter lets everything pass
	}
	return httpguard.NewLimiter(float64(rate), burst*rate, now)
}

// limitOf is the limit of a request, in calls a second. The paths of one server are for
// hosts; with keys a host shows one of scope host and has no limit, but without keys a
// host makes many calls from one address.
func (s *Server) limitOf(r *http.Request) (*httpguard.Limiter, int) {
	switch {
	case s.keys.On():
		return s.limit, s.rate
	case s.onlyKeys:
		return nil, 0
	case strings.HasPrefix(r.URL.Path, "/mcp/"):
		return s.hostLimit, s.rate * hostFactor
	}
	return s.limit, s.rate
}

// clientOf is under which name the calls of a request are counted: its key, else its
// address.
func (s *Server) clientOf(r *http.Request) string {
	if who := httpguard.PrincipalOf(r.Context()); who.Key != "" {
		return who.Key
	}
	return httpguard.ClientName(s.clients.Of(r))
}

// allow counts calls of a request, and answers it when there were too many. The calls
// of a host are not counted: it bounds its own clients.
func (s *Server) allow(w http.ResponseWriter, r *http.Request, id []byte, calls int) bool {
	if isHost(httpguard.PrincipalOf(r.Context())) {
		return true
	}
	limit, rate := s.limitOf(r)
	wait := limit.Take(s.clientOf(r), calls)
	if wait == 0 {
		return true
	}
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	writeJSON(w, http.StatusTooManyRequests, mcpservers.Fail(id, &mcpservers.RPCError{
		Code:    mcpservers.CodeTooMany,
		Message: fmt.Sprintf("Too many requests: %d calls a second are allowed, try again in %d s", rate, seconds),
	}))
	return false
}

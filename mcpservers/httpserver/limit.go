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

// hostFactor is the multiple of the rate for a host without a key.
const hostFactor = 50

// burst is how many seconds' calls may come at once: a client makes several in a turn.
const burst = 5

// newLimiter limits each client to rate calls a second; nil means no limit.
func newLimiter(rate int, now func() time.Time) (*httpguard.Limiter, error) {
	if rate < 0 {
		return nil, nil //nolint:nilnil // a nil limiter allows everything
	}
	return httpguard.NewLimiter(float64(rate), burst*rate, now)
}

// limitOf returns the limit of a request, in calls a second. The paths of one server are for
// hosts; with keys a host has one of scope host and no limit, but without keys a host makes many
// calls from one address.
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

// clientOf returns the name under which a request's calls are counted: its key, else its address.
func (s *Server) clientOf(r *http.Request) string {
	if who := httpguard.PrincipalOf(r.Context()); who.Key != "" {
		return who.Key
	}
	return httpguard.ClientName(s.clients.Of(r))
}

// allow counts a request's calls, and answers it if there were too many. It does not count a
// host's: the host limits its own clients.
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

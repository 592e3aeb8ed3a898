package web

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// withRequestID sets the id of every request in the header of its answer, from which handlers read
// it: the id that the client sent if it is valid, else a new one.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(wire.RequestIDHeader)
		if !wire.IsID(id) {
			id = "req_" + rand.Text()
		}
		w.Header().Set(wire.RequestIDHeader, id)
		next.ServeHTTP(w, r)
	})
}

// logRequest logs one line for each request, without its query and body, which contain texts of
// people.
func (s *server) logRequest(c *gin.Context) {
	start := time.Now()
	c.Next()
	s.logAnswered(c, time.Since(start))
}

// logAnswered is the second half of logRequest. It is a separate function so that the log record is
// not on the stack while the request is answered.
func (s *server) logAnswered(c *gin.Context, took time.Duration) {
	level := slog.LevelDebug
	if statusOf(c) >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	s.Logger.LogAttrs(c.Request.Context(), level, "http request",
		slog.String("method", c.Request.Method), slog.String("route", c.FullPath()),
		slog.Int("status", statusOf(c)), slog.Duration("took", took),
		slog.String("request_id", wire.RequestID(c.Writer)))
}

// clientLeft is the status, in log and metrics, of a request whose client left before an answer began.
// nginx calls it so too.
const clientLeft = 499

// statusOf returns the status of an answered request. An error that nobody waited for is none of the
// server's.
func statusOf(c *gin.Context) int {
	status := c.Writer.Status()
	if status >= http.StatusInternalServerError && context.Cause(c.Request.Context()) == context.Canceled { //nolint:errorlint // another cause is the server's own
		return clientLeft
	}
	return status
}

// recoverPanic answers a handler's panic with a 500 error object, or cuts the connection if the
// answer has begun, so that clients do not take it for complete.
func (s *server) recoverPanic(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(http.ErrAbortHandler)
		}
		s.Logger.Error("handler panicked", "panic", p, "stack", string(debug.Stack()),
			"route", c.FullPath(), "request_id", wire.RequestID(c.Writer))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		c.Abort()
		wire.WriteError(c.Writer, wire.ErrInternal)
	}()
	c.Next()
}

// noRoute answers an unknown path: browsers get a page, other clients an error.
func (s *server) noRoute(c *gin.Context) {
	if strings.Contains(c.GetHeader("Accept"), "text/html") {
		s.site.Missing(c)
		return
	}
	s.unknownRoute(c)
}

func (s *server) unknownRoute(c *gin.Context) {
	wire.WriteError(c.Writer, &wire.Error{
		Status: http.StatusNotFound, Kind: wire.TypeInvalid, Code: "unknown_route",
		Message: "this path is unknown; the chat endpoint is POST /v1/chat/completions",
	})
}

func (s *server) noMethod(c *gin.Context) {
	wire.WriteError(c.Writer, &wire.Error{
		Status: http.StatusMethodNotAllowed, Kind: wire.TypeInvalid, Code: "method_not_allowed",
		Message: "this path does not accept " + c.Request.Method + "; it accepts " + c.Writer.Header().Get("Allow"),
	})
}

// observe counts and traces a request under the pattern of its route.
func (s *server) observe(c *gin.Context) {
	ctx, span := s.Telemetry.StartRequest(c.Request, c.FullPath(), wire.RequestID(c.Writer))
	defer func() { span.End(statusOf(c)) }()
	if ctx != c.Request.Context() {
		c.Request = c.Request.WithContext(ctx)
	}
	c.Next()
}

// countStream counts a chat request while it is being answered.
func (s *server) countStream(c *gin.Context) {
	defer s.Telemetry.OpenStream()()
	c.Next()
}

// metrics answers a scrape.
func (s *server) metrics(c *gin.Context) {
	s.Telemetry.Metrics().ServeHTTP(c.Writer, c.Request)
}

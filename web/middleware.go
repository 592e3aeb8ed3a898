package web

import (
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

// withRequestID gives every request an id, the client's own if that is a valid one, and sets
// it in the answer's header, where handlers find it.
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

// logRequest writes one line for each request, without query or body, which hold what people
// wrote.
func (s *server) logRequest(c *gin.Context) {
	start := time.Now()
	c.Next()
	s.logAnswered(c, time.Since(start))
}

// logAnswered is the end of logRequest, split off so that its record takes no room on the
// stack while a request is answered.
func (s *server) logAnswered(c *gin.Context, took time.Duration) {
	level := slog.LevelDebug
	if c.Writer.Status() >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	s.Logger.LogAttrs(c.Request.Context(), level, "http request",
		slog.String("method", c.Request.Method), slog.String("route", c.FullPath()),
		slog.Int("status", c.Writer.Status()), slog.Duration("took", took),
		slog.String("request_id", wire.RequestID(c.Writer)))
}

// recoverPanic turns a handler's panic into a typed 500, or cuts the connection if an answer
// has begun, so that it is not taken for complete.
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

// noRoute answers a browser with a page, and a program with an error.
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
		Message: "there is nothing at this path; the chat endpoint is POST /v1/chat/completions",
	})
}

func (s *server) noMethod(c *gin.Context) {
	wire.WriteError(c.Writer, &wire.Error{
		Status: http.StatusMethodNotAllowed, Kind: wire.TypeInvalid, Code: "method_not_allowed",
		Message: "this path does not take " + c.Request.Method + "; it takes " + c.Writer.Header().Get("Allow"),
	})
}

// observe counts a request and traces it under the pattern of its route.
func (s *server) observe(c *gin.Context) {
	ctx, span := s.Telemetry.StartRequest(c.Request, c.FullPath(), wire.RequestID(c.Writer))
	defer func() { span.End(c.Writer.Status()) }()
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

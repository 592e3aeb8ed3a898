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
)

const requestIDHeader = "X-Request-Id"

// isID matches the ids that clients may choose: conversations and requests.
// An id is 1 to 128 characters of [A-Za-z0-9._:-].
func isID(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("._:-", rune(c)) {
			return false
		}
	}
	return true
}

// withRequestID gives every request an id, the client's own if it sent a plain one,
// and answers it in the header, where handlers find it.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !isID(id) {
			id = "req_" + rand.Text()
		}
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r)
	})
}

func requestID(w http.ResponseWriter) string { return w.Header().Get(requestIDHeader) }

// logRequest writes one line for each request, without query or body, which hold
// what people said.
func (s *server) logRequest(c *gin.Context) {
	start := time.Now()
	c.Next()
	s.logAnswered(c, time.Since(start))
}

// logAnswered is the end of logRequest, apart from it so that its record takes no room
// on the stack of a request while that is answered.
func (s *server) logAnswered(c *gin.Context, took time.Duration) {
	level := slog.LevelDebug
	if c.Writer.Status() >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	s.Logger.LogAttrs(c.Request.Context(), level, "http request",
		slog.String("method", c.Request.Method), slog.String("route", c.FullPath()),
		slog.Int("status", c.Writer.Status()), slog.Duration("took", took),
		slog.String("request_id", requestID(c.Writer)))
}

// recoverPanic turns a panic of a handler into a typed 500, or cuts the connection
// when an answer has begun, so that it is not taken for a whole one.
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
			"route", c.FullPath(), "request_id", requestID(c.Writer))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		c.Abort()
		writeError(c.Writer, errInternal)
	}()
	c.Next()
}

func (s *server) noRoute(c *gin.Context) {
	writeError(c.Writer, &apiError{
		status: http.StatusNotFound, kind: typeInvalid, code: "unknown_route",
		message: "there is nothing at this path; the chat endpoint is POST /v1/chat/completions",
	})
}

func (s *server) noMethod(c *gin.Context) {
	writeError(c.Writer, &apiError{
		status: http.StatusMethodNotAllowed, kind: typeInvalid, code: "method_not_allowed",
		message: "this path does not take " + c.Request.Method + "; it takes " + c.Writer.Header().Get("Allow"),
	})
}

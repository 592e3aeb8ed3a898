package session

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/terminal"
)

// maxLog is the maximum number of log lines that a session keeps.
const maxLog = 500

// A logbook keeps the host's log during a session: lines between those of an answer would tear it
// apart. It is safe for concurrent use.
type logbook struct {
	mu    sync.Mutex
	lines []string
	fresh int // warnings and errors since news was called
}

func newLogbook() *logbook { return &logbook{} }

// logger returns the host's logger. It writes to standard error only if that is not the terminal of
// the session, or if --log-level asks for it.
func (l *logbook) logger(a *cli.CLI, cfg *config.Config) (*slog.Logger, error) {
	if a.LogLevel != "" || cfg.Telemetry.LogLevel != "" && !cli.IsTerminal(a.Stderr) {
		return a.Logger(cfg.Telemetry, slog.LevelError)
	}
	return slog.New(bookHandler{slog.NewTextHandler(l, nil), l}), nil
}

// Write adds lines.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(p) {
		l.lines = append(l.lines, strings.TrimRight(string(line), "\n"))
	}
	if over := len(l.lines) - maxLog; over > 0 {
		l.lines = l.lines[over:]
	}
	return len(p), nil
}

// news returns how many warnings and errors came since it was called last.
func (l *logbook) news() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.fresh
	l.fresh = 0
	return n
}

func (l *logbook) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// A bookHandler counts the warnings and errors of a logbook.
type bookHandler struct {
	slog.Handler
	book *logbook
}

func (h bookHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		h.book.mu.Lock()
		h.book.fresh++
		h.book.mu.Unlock()
	}
	return h.Handler.Handle(ctx, r)
}

func (h bookHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return bookHandler{h.Handler.WithAttrs(attrs), h.book}
}

func (h bookHandler) WithGroup(name string) slog.Handler {
	return bookHandler{h.Handler.WithGroup(name), h.book}
}

// showLog shows the host's log, and what servers wrote to their standard error.
func (s *session) showLog(context.Context, string) error {
	s.log.news()
	shown := s.log.all()
	for _, status := range s.h.MCP.Status() {
		for _, line := range status.Stderr {
			shown = append(shown, status.Name+": "+line)
		}
	}
	if len(shown) == 0 {
		return errors.New("the log is empty; molar --log-level debug chat writes all of it to standard error")
	}
	for _, line := range shown {
		s.lines("  "+line, terminal.Dim)
	}
	return nil
}

package mcpclients

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"molar/internal/text"
	"molar/schemas"
)

const (
	methodLogged = "notifications/message"
	// newsEvery is how often at most the progress of a call is told.
	newsEvery = 250 * time.Millisecond
	// maxLines is how many lines of a server's log are taken in a second.
	maxLines = 20
	// maxNews is how many bytes of what a server says are kept.
	maxNews = 1 << 10
)

func newsText(content string) string { return text.Text(text.Visible(content), maxNews) }

// tell hands news of a call to its person.
func (s *Server) tell(who *schemas.Person, tool string, n schemas.News) {
	if who != nil && who.Hear != nil {
		n.Server, n.Tool = s.Name(), tool
		who.Hear(n)
	}
}

// logged takes a line of the server's log. It does not say to which call it belongs: while
// calls for several people are under way, none of them hears it.
func (s *Server) logged(params json.RawMessage) {
	var line struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &line) != nil {
		return
	}
	left, ok := s.lines.take()
	if !ok {
		return
	}
	content := string(line.Data)
	var plain string
	if json.Unmarshal(line.Data, &plain) == nil {
		content = plain
	}
	if line.Logger != "" {
		content = line.Logger + ": " + content
	}
	if content = newsText(content); left > 0 {
		content += fmt.Sprintf(" (%d lines before it were left out)", left)
	}
	s.log.Log(context.Background(), logLevel(line.Level), "MCP server logs", "level", text.Text(text.Visible(line.Level), 20), "text", content)
	if who, only := s.askers.only(); only {
		s.tell(who, "", schemas.News{Level: text.Text(text.Visible(line.Level), 20), Text: content})
	}
}

// logLevel is how loud a line is in the host's own log: what a server has to say of itself is
// no news but where something is wrong.
func logLevel(level string) slog.Level {
	switch level {
	case "warning", "error", "critical", "alert", "emergency":
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// A quota lets some lines through in each second.
type quota struct {
	mu    sync.Mutex
	since time.Time
	taken int
	left  int // lines since one was taken
}

// take reports whether one more line may pass, and how many were left out before it.
func (q *quota) take() (left int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.since) >= time.Second {
		q.since, q.taken = time.Now(), 0
	}
	if q.taken == maxLines {
		q.left++
		return 0, false
	}
	q.taken++
	left, q.left = q.left, 0
	return left, true
}

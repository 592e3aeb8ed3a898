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
	// newsEvery is the least time between two progress reports of a call; the last one is
	// sent at once.
	newsEvery = 250 * time.Millisecond
	// maxLines bounds the log lines of a server, per second.
	maxLines = 20
	// maxNews bounds a log line or progress message, in bytes.
	maxNews = 1 << 10
)

func newsText(content string) string { return text.Shorten(text.Visible(content), maxNews) }

// sendNews sends news of a call to its person.
func (s *server) sendNews(person *schemas.Person, tool string, n schemas.News) {
	if person != nil && person.OnNews != nil {
		n.Server, n.Tool = s.Name(), tool
		person.OnNews(n)
	}
}

// logged handles a line of the server's log. The line does not name its call, so while calls for
// several people are under way, it reaches none of them.
func (s *server) logged(params json.RawMessage) {
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
	s.log.Log(context.Background(), logLevel(line.Level), "MCP server logs", "level", text.Shorten(text.Visible(line.Level), 20), "text", content)
	if person, only := s.askers.only(); only {
		s.sendNews(person, "", schemas.News{Level: text.Shorten(text.Visible(line.Level), 20), Text: content})
	}
}

// logLevel returns the level of a line in the host's log: a server's chatter matters only if
// something is wrong.
func logLevel(level string) slog.Level {
	switch level {
	case "warning", "error", "critical", "alert", "emergency":
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// A quota limits the lines per second.
type quota struct {
	mu    sync.Mutex
	since time.Time
	taken int
	left  int // lines dropped since the last one passed
}

// take reports whether another line may pass, and how many were dropped before it.
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

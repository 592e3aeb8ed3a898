//go:build unix

package transport

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// What a program said last is kept, also of one that wrote faster than it is read while nobody waits.
func TestStdio_LastWordsOfAFlood(t *testing.T) {
	const script = `yes "$(printf %200s)x" | head -c 2400000 >&2; echo >&2; echo "Error: the database is gone" >&2; exit 3`
	c, err := dialStdio(&ServerConfig{Name: "s", Command: "sh", Args: []string{"-c", script}}, Host{}, func(string, json.RawMessage) {})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	_ = c.Close()
	if said := c.Said(time.Time{}); !slices.Contains(said, "Error: the database is gone") {
		t.Errorf("%d lines, the last is %q", len(said), said[len(said)-1])
	}
}

package session

import (
	"io"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/config"
)

// The log of a session is kept for /log, with its last lines, and its warnings are counted once.
func TestLogbook(t *testing.T) {
	book := newLogbook()
	log, err := book.logger(&cli.CLI{Stderr: io.Discard}, &config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("ready")
	log.With("server", "files").WithGroup("x").Warn("slow", "after", 3)
	if n := book.news(); n != 1 || book.news() != 0 {
		t.Errorf("%d warnings, then more", n)
	}
	if all := strings.Join(book.all(), "\n"); !strings.Contains(all, "msg=ready") || !strings.Contains(all, "msg=slow server=files x.after=3") {
		t.Errorf("%s", all)
	}
	for range 2 * maxLog {
		log.Info("again")
	}
	if n := len(book.all()); n != maxLog {
		t.Errorf("%d lines are kept", n)
	}
}

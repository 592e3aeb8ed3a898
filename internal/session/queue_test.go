package session

import (
	"strings"
	"testing"

	"molar/internal/terminal"
)

// What is submitted during an answer runs after it in its order, with the pastes that belong to it; what
// is not stays in the line.
func TestSession_Queue(t *testing.T) {
	var screen strings.Builder
	s := quietSession(&screen)
	long := strings.Repeat("a line\n", 30)
	for _, key := range []terminal.Key{
		{Text: "see "},
		{Code: terminal.KeyPaste, Text: long},
		{Code: terminal.KeyEnter},
		{Text: "then"},
		{Code: terminal.KeyEnter},
		{Text: "not yet"},
	} {
		s.typeAhead(key)
	}
	if err := s.editor.Paint(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(screen.String(), "then: see [paste 1: 30 lines] | then") {
		t.Errorf("what waits is not shown: %q", screen.String())
	}
	for _, want := range []struct {
		line   string
		pasted int
	}{{"see " + long, 1}, {"then", 0}} {
		line, err := s.readLine(t.Context(), promptMark)
		if err != nil || line != want.line || len(s.pasted) != want.pasted {
			t.Errorf("%q with %d pastes, %v", line, len(s.pasted), err)
		}
	}
	if got := s.editor.Text(); got != "not yet" {
		t.Errorf("left in the line: %q", got)
	}
	s.keys <- terminal.Key{Code: terminal.KeyEnter}
	if line, err := s.readLine(t.Context(), promptMark); err != nil || line != "not yet" {
		t.Errorf("%q, %v", line, err)
	}
}

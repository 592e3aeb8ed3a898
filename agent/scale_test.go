package agent_test

import (
	"testing"

	"molar/agent"
)

func TestScale(t *testing.T) {
	var s agent.Scale
	if got := s.BytesOf("m"); got != agent.BytesPerToken {
		t.Errorf("%v bytes before anything was learnt", got)
	}
	s.Learn("m", 900, 100) // a short prompt gives no reliable ratio
	if got := s.BytesOf("m"); got != agent.BytesPerToken {
		t.Errorf("%v bytes after a short prompt", got)
	}
	s.Learn("m", 6000, 2000)
	if got := s.BytesOf("m"); got != 3 {
		t.Errorf("%v bytes after the first prompt, want 3", got)
	}
	s.Learn("m", 8000, 2000)
	if got := s.BytesOf("m"); got <= 3 || got >= 3.5 {
		t.Errorf("%v bytes after the second prompt, want a little more than 3", got)
	}
	s.Learn("m", 1, 1_000_000)
	if got := s.BytesOf("m"); got < 2 {
		t.Errorf("%v bytes after a report that cannot be", got)
	}
	if got := s.BytesOf("other"); got != agent.BytesPerToken {
		t.Errorf("%v bytes of another model", got)
	}
}

package text_test

import (
	"testing"

	"molar/internal/text"
)

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 tool calls", 1: "1 tool call", 2: "2 tool calls"} {
		if got := text.Counted(n, "tool call"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

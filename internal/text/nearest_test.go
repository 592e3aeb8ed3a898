package text_test

import (
	"strings"
	"testing"

	"molar/internal/text"
)

func TestTo(t *testing.T) {
	t.Parallel()
	known := []string{"qwen2.5:7b-instruct", "llama3.2:3b", "provider"}
	for name, want := range map[string]string{
		"provdier":    "provider",
		"Llama3.2:1b": "llama3.2:3b",
		"qwen2.5":     "qwen2.5:7b-instruct",
		"qw":          "",
		"mistral":     "",
	} {
		if got := text.Nearest(name, known); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A name may come from a request: a very long one costs little.
func TestNearest_Long(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	if n := testing.AllocsPerRun(1, func() { text.Nearest(long, []string{"family__get", "family__list"}) }); n > 100 {
		t.Errorf("%.0f allocations", n)
	}
}

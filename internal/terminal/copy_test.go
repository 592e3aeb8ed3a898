package terminal_test

import (
	"testing"

	"molar/internal/terminal"
)

// What is copied is the code as it was written, without the cuts and the indent of the screen.
func TestLastCode(t *testing.T) {
	for source, want := range map[string]string{
		"see\n\n```sh\nls\n```\n\n1. then\n\n   ```go\n   if a {\n   \tb()\n   }\n   ```\n\nThe end.": "if a {\n\tb()\n}",
		"no `code`": "",
	} {
		if got := terminal.LastCode(source); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := terminal.Copy("ls\x1b"); got != "\x1b]52;c;bHMb\a" {
		t.Errorf("%q", got)
	}
}

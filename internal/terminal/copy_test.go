package terminal_test

import (
	"encoding/base64"
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
	clean := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("if a {\n\tb()")) + "\a"
	if got := terminal.Copy("if a {\x1b[201~\n\u202e\tb()\x03"); got != clean { // nothing that the screen does not show
		t.Errorf("%q", got)
	}
}

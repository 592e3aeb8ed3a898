package _test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateEveryday = flag.Bool("update-everyday", false, "write the questions of the thirty tasks into docs/reference/everyday.md")

const everydayHead = `# The questions of a working day

Thirty tasks as people write them, in an office with servers for files, mail, bookings, the web, GitHub and a database, and what
[the rules](../trust.md) ask on the page. The operator has confirmed what attaching the servers proposed: files, bookings and the
database are ` + "`closed`" + `, the web is ` + "`public`" + `, and three tools only add. The second day is about other files, visits, mails and people, after
each question of the first was answered for always, for its folder or host where the page offers one.
(` + "`go test ./internal/testkit/attacks -run TestTasks -v`" + ` plays them; ` + "`-update-everyday`" + ` writes this page.)

On the first day %d of %d ask, on the second %d.

`

// everyday returns the page with the questions of two days.
func everyday(first, later []task, asks, again map[string]asked) string {
	var b strings.Builder
	fmt.Fprintf(&b, everydayHead, len(asks), len(first), len(again))
	for i, k := range first {
		fmt.Fprintf(&b, "%d. %s\n", i+1, plainText(k.Text))
		for _, q := range asks[k.Text] {
			fmt.Fprintf(&b, "    > %s\n", plainText(q))
		}
		switch {
		case len(again[later[i].Text]) > 0:
			b.WriteString("\n    *Asks again on the second day.*\n")
		case len(asks[k.Text]) > 0:
			b.WriteString("\n    *No longer asks on the second day.*\n")
		}
	}
	return b.String()
}

// plainText escapes what Markdown would read in a text.
func plainText(text string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`, "#", `\#`, "`", "\\`", "\n", " ").Replace(text)
}

// checkEveryday compares the page with the questions, or writes it.
func checkEveryday(t *testing.T, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "reference", "everyday.md")
	if *updateEveryday {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s does not show the questions (%v): run go test ./internal/testkit/attacks -run TestTasks -update-everyday", path, err)
	}
}

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"molar/internal/testkit"
)

// TestSize keeps the program small that is shipped. What is large in it: docs/reference/dependencies.md.
func TestSize(t *testing.T) {
	long(t, "the program is built as it is shipped")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go tool is not in PATH, so no program can be built to measure")
	}
	const most = 52_000_000
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tags := regexp.MustCompile(`-tags \S+`).FindString(read("Makefile"))
	for _, name := range []string{"deploy/Dockerfile", ".goreleaser.yaml"} {
		if tags == "" || !strings.Contains(read(name), tags+" ") {
			t.Errorf("%s does not build with %q, as the Makefile does", name, tags)
		}
	}
	made, err := os.Stat(testkit.Build(t, "molar/cmd/molar", strings.Fields(tags)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(made.Size())/1e6)
	if made.Size() > most {
		t.Errorf("the program has %.1f MB, more than %.1f; if it is ten more at once, something calls methods by names that are known only when it runs:\n"+
			"go build %s -ldflags=-dumpdep -o /dev/null ./cmd/molar 2>&1 | grep ReflectMethod", float64(made.Size())/1e6, most/1e6, tags)
	}
}

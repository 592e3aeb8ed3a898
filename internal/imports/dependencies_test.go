package imports_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every direct dependency is in the documentation with its reason, and no other.
func TestDependenciesHaveReasons(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var required, explained []string
	for line := range strings.Lines(read("go.mod")) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "\t") && len(fields) == 2 { // an indirect one has a comment
			required = append(required, fields[0])
		}
	}
	table := read("docs/reference/dependencies.md")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\S.* \\|$").FindAllStringSubmatch(table, -1) {
		explained = append(explained, row[1])
	}
	if len(required) == 0 {
		t.Fatal("go.mod has no direct dependency")
	}
	slices.Sort(required)
	slices.Sort(explained)
	if diff := cmp.Diff(required, explained); diff != "" {
		t.Errorf("direct dependencies of go.mod, and those that docs/reference/dependencies.md explains:\n%s", diff)
	}
}

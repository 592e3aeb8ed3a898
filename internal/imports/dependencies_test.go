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
	_, table, found := strings.Cut(read("docs/architecture.md"), "## Dependencies")
	if !found || len(required) == 0 {
		t.Fatalf("%d direct dependencies, and a list of them: %v", len(required), found)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\S.* \\|$").FindAllStringSubmatch(table, -1) {
		explained = append(explained, row[1])
	}
	slices.Sort(required)
	slices.Sort(explained)
	if diff := cmp.Diff(required, explained); diff != "" {
		t.Errorf("direct dependencies of go.mod, and those that docs/architecture.md explains:\n%s", diff)
	}
}

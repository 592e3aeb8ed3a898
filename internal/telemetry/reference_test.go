package telemetry_test

import (
	"fmt"
	"strings"
	"testing"

	"molar/internal/telemetry"
	"molar/internal/testkit"
)

// The reference of the metrics is made from their list.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Metrics\n\nMade from the code. Beside these, `/metrics` has `go_*` and `process_*`.\n\n| metric | kind | labels | what it counts |\n|---|---|---|---|\n")
	for _, m := range telemetry.List() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(m.Labels, ", "), m.Help)
	}
	testkit.Same(t, "../../docs/reference/metrics.md", b.String())
}

package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"molar/internal/testkit"
)

// The reference of the routes is generated from the OpenAPI document of a host with all of them.
func TestReference(t *testing.T) {
	w := serve(build(t, operated(t, play(nil))), request(http.MethodGet, "/openapi.json", ""))
	var doc struct {
		Paths map[string]map[string]struct {
			Tags     []string
			Summary  string
			Security []map[string][]string
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	byTag := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], fmt.Sprintf("| `%s %s` | %s |\n", strings.ToUpper(method), path, op.Summary))
		}
	}
	var b strings.Builder
	b.WriteString("# HTTP\n\nMade from the code. `/openapi.json` of a running host has every route with its types.\n")
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		b.WriteString("\n## " + tag + "\n\n| route | |\n|---|---|\n" + strings.Join(byTag[tag], ""))
	}
	testkit.Same(t, "../docs/reference/http.md", b.String())
}

package toolhandler_test

import (
	"fmt"
	"strings"
	"testing"

	"molar/schemas"
	"molar/toolhandler"
)

// BenchmarkReview decides about a call after thirty long texts and twenty questions.
func BenchmarkReview(b *testing.B) {
	git := tool("git", "get_file", schema("owner", "repo", "path", "ref", `n {"type":"integer"}`, "body"))
	var f toolhandler.Flow
	for i := range 30 {
		f.Readings = append(f.Readings, toolhandler.Reading{
			Origin: "git", Text: strings.Repeat(fmt.Sprintf("line %d of src/main.go: the quick brown fox\n", i), 16<<10/44),
			Places: map[string]string{"owner": "acme", "repo": "notes"},
		})
	}
	for range 20 {
		f.Typed = append(f.Typed, strings.Repeat("compare the two files of the repository ", 5))
	}
	h, err := toolhandler.New(toolhandler.Config{Caller: callerFunc(echo)})
	if err != nil {
		b.Fatal(err)
	}
	turn := h.Begin(toolhandler.TurnConfig{Tools: []schemas.Tool{git}, Flow: f, Approver: &asker{}})
	c := call("1", git.Name, `{"owner":"acme","repo":"notes","path":"src/main.go","ref":"quick","n":29,"body":"x"}`)
	for b.Loop() {
		turn.Asks(b.Context(), c)
	}
}

package toolhandler

import (
	"os"
	"strings"
	"testing"
)

// The documentation lists the verbs by which tools are classified.
func TestClassify_docs(t *testing.T) {
	page, err := os.ReadFile("../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	for class, verbs := range map[Class][]string{Reads: readingVerbs(), Adds: addingVerbs(), Writes: writingVerbs()} {
		if row := "| " + string(class) + " | " + strings.Join(verbs, ", ") + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/trust.md lacks the row\n%s", row)
		}
	}
}

package toolhandler

import (
	"os"
	"strings"
	"testing"
)

// The documentation lists the words by which tools and arguments are recognised.
func TestClassify_docs(t *testing.T) {
	page, err := os.ReadFile("../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string][]string{
		"verbs of readers": readingVerbs(), "words of writers": writingVerbs(), "free text": contentWords(), "places": placeWords(), "commands": commandWords(),
	} {
		if row := strings.Join(list, ", "); !strings.Contains(string(page), row) {
			t.Errorf("docs/trust.md lacks the %s\n%s", what, row)
		}
	}
}

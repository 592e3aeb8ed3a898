package markdown_test

import (
	"strings"
	"testing"

	"molar/internal/markdown"
)

// TestNew_LineEnds: a single line end stays one.
func TestNew_LineEnds(t *testing.T) {
	var html strings.Builder
	if err := markdown.New().Convert([]byte("name: Nguyen\nmembers:\n- Van A"), &html); err != nil {
		t.Fatal(err)
	}
	if got := html.String(); !strings.HasPrefix(got, "<p>name: Nguyen<br>\nmembers:</p>\n<ul>") {
		t.Errorf("%q", got)
	}
}

package terminal

import (
	"encoding/base64"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"molar/internal/markdown"
)

// Copy returns the sequence that puts foreign text, cleaned as on the screen, into the terminal's clipboard
// (OSC 52). Many terminals ask first, or ignore it.
func Copy(content string) string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(Clean(content))) + "\a"
}

// LastCode returns the last block of code in Markdown as it was written; empty if there is none.
func LastCode(source string) string {
	code := ""
	document := markdown.New().Parser().Parse(text.NewReader([]byte(source)))
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				code = strings.Join(lines(n, []byte(source)), "\n")
			}
		}
		return ast.WalkContinue, nil
	})
	return code
}

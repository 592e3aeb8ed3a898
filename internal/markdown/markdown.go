package markdown

import (
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/renderer/html"
)

// New returns a parser and HTML renderer of the dialect. A single line end breaks the line, as
// people expect in a chat. Of raw HTML it writes sub, sup, kbd, mark and br without attributes,
// and the text of blocks; it omits dangerous links. A page must still sanitise its HTML.
func New() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(dialect()...),
		goldmark.WithRendererOptions(html.WithHardWraps()),
	)
}

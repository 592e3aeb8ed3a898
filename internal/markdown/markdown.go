package markdown

import (
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// New returns a reader and HTML writer of the dialect. A single line end breaks the
// line, as people who chat expect. It leaves out raw HTML and dangerous links; whoever
// shows its HTML on a page sanitises it all the same.
func New() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList, extension.Linkify, additions{}),
		goldmark.WithRendererOptions(html.WithHardWraps()),
	)
}

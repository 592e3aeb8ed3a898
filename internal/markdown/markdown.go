// Package markdown reads the Markdown that models write: CommonMark with tables,
// strikes, task lists, bare links, formulas and footnotes, and finds which blocks of a
// stream are complete. The pages and the terminal share it, so that both cut a stream
// alike.
//
// What it reads is not trusted, and a formula stays the source that it is.
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

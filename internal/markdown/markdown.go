// Package markdown reads the Markdown that models write: CommonMark with tables,
// strikes, task lists and bare links, and finds which blocks of a stream are
// complete. The pages and the terminal share it, so that both cut a stream alike.
//
// It renders nothing, and what it reads is not trusted.
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
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Linkify),
		goldmark.WithRendererOptions(html.WithHardWraps()),
	)
}

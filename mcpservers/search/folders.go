package search

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers/knowledge"
)

// folderTool is the tool that searches a folder of the operator's own.
func folderTool(f *knowledge.Folder) mcp.Tool {
	return mcp.NewTool(f.Name(),
		mcp.WithDescription(fmt.Sprintf("Search %q, a collection of documents of whoever runs this assistant. Returns up to %d passages with their title, place and link; needs no internet.", f.Name(), maxResults)),
		mcp.WithString("query", mcp.Required(),
			mcp.Description("The question, in the words that the documents may use")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
	)
}

func (t *tools) searchFolder(f *knowledge.Folder) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		query, bad := queryOf(req)
		if bad != nil {
			return bad, nil
		}
		found, err := f.Search(ctx, query, maxResults)
		if err != nil {
			return nil, err
		}
		var results []Result
		for _, r := range found {
			results = append(results, Result{Title: r.Title, Content: r.Content, Link: r.Link, Place: r.Place, Score: r.Score})
		}
		if p := f.Progress(); p.Done < p.Files {
			t.log.InfoContext(ctx, "searched while the folder is still being indexed", "tool", f.Name(), "done", p.Done, "files", p.Files)
		}
		return t.answer(ctx, f.Name(), results), nil
	}
}

// close ends the index of the guide and those of the folders.
func (t *tools) close() error {
	for _, f := range t.folders {
		f.Close()
	}
	return t.guide.close()
}

package search

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers/knowledge"
)

// folderTool returns the tool that searches a folder.
func folderTool(f *knowledge.Folder) mcp.Tool {
	about := fmt.Sprintf("Search %q, a collection of documents of whoever runs this assistant. Returns up to %d passages with their title, place and link; needs no internet.", f.Name(), maxResults)
	if f.About() != "" {
		about = fmt.Sprintf("%s Returns up to %d passages with their text, place and link; needs no internet.", f.About(), maxResults)
	}
	return mcp.NewTool(f.Name(),
		mcp.WithDescription(about),
		mcp.WithString("query", mcp.Required(),
			mcp.Description("The question, in Vietnamese (with or without diacritics) or English")),
		mcp.WithString("about",
			mcp.Description("What the conversation is about, for a question that leans on it, such as how long it takes")),
		mcp.WithString("language", mcp.Enum("vi", "en"),
			mcp.Description("Language of the entries; taken from the query when left out")),
		mcp.WithString("passage",
			mcp.Description("A heading as addresses name it, such as opening-hours: what stands under it is returned whatever the query asks for. Leave it out to search")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(f.Foreign()),
	)
}

func (t *tools) searchFolder(f *knowledge.Folder) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		query, bad := queryOf(req)
		if bad != nil {
			return bad, nil
		}
		lang := req.GetString("language", "")
		if lang != "" && lang != "vi" && lang != "en" {
			return mcp.NewToolResultError(fmt.Sprintf("language is %q: use \"vi\" or \"en\", or leave it out", lang)), nil
		}
		found, err := f.Search(ctx, knowledge.Query{Text: query, About: clipped(req.GetString("about", "")), Language: lang, Passage: req.GetString("passage", "")}, maxResults)
		if err != nil {
			return nil, err
		}
		var results []Result
		for _, r := range found.Results {
			results = append(results, Result{Title: r.Title, Content: r.Content, Link: r.Link, Place: &r.Place, Score: r.Score})
		}
		if p := f.Progress(); p.Done < p.Files {
			t.log.InfoContext(ctx, "searched while the folder is still being indexed", "tool", f.Name(), "done", p.Done, "files", p.Files)
		}
		return t.answer(ctx, f.Name(), results), nil
	}
}

// close stops the indexing of the folders.
func (t *tools) close() error {
	for _, f := range t.folders {
		f.Close()
	}
	return nil
}

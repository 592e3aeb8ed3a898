package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers/knowledge"
)

// maxQueries is how many other wordings of a query a folder is asked, shownNames how many documents a
// folder without a description is described by.
const (
	maxQueries = 3
	shownNames = 8
)

// folderTool returns the tool that searches a folder.
func folderTool(f *knowledge.Folder) mcp.Tool {
	return mcp.NewTool(f.Name(),
		mcp.WithDescription(describe(f)),
		mcp.WithString("query", mcp.Required(), mcp.Description("The question, "+languages(f))),
		mcp.WithArray("queries", mcp.WithStringItems(), mcp.MaxItems(maxQueries),
			mcp.Description("The same question in up to three other wordings, such as the terms that the documents use")),
		mcp.WithString("about",
			mcp.Description("What the conversation is about, for a question that leans on it, such as how long it takes")),
		mcp.WithString("language", mcp.Enum(f.Languages()...),
			mcp.Description("Language of the entries; taken from the query when left out")),
		mcp.WithString("passage",
			mcp.Description("A heading as addresses name it, such as opening-hours: what stands under it is returned whatever the query asks for. Leave it out to search")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(f.Foreign()),
	)
}

// describe tells a model what a folder holds: what its operator says, else what its first documents are
// called.
func describe(f *knowledge.Folder) string {
	about := strings.Join(strings.Fields(f.About()), " ")
	switch names := f.Names(shownNames); {
	case about != "":
		if !strings.ContainsAny(about[len(about)-1:], ".!?") {
			about += "."
		}
	case len(names) > 0:
		about = fmt.Sprintf("Search %q, a collection of documents of whoever runs this assistant, such as %s.", f.Name(), strings.Join(names, ", "))
	default:
		about = fmt.Sprintf("Search %q, a collection of documents of whoever runs this assistant.", f.Name())
	}
	return fmt.Sprintf("%s Returns up to %d passages with their text, place and link; needs no internet.", about, maxResults)
}

// languages names the languages of a folder's documents.
func languages(f *knowledge.Folder) string {
	names := map[string]string{"vi": "Vietnamese (with or without diacritics)", "en": "English"}
	all := f.Languages()
	for i, lang := range all {
		all[i] = cmp.Or(names[lang], fmt.Sprintf("the language %q", lang))
	}
	return "in " + strings.Join(all, " or ") + " as the documents are"
}

func (t *tools) searchFolder(f *knowledge.Folder) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		query, bad := queryOf(req)
		if bad != nil {
			return bad, nil
		}
		lang := req.GetString("language", "")
		if lang != "" && !slices.Contains(f.Languages(), lang) {
			return mcp.NewToolResultError(fmt.Sprintf("language is %q: use \"%s\", or leave it out", lang, strings.Join(f.Languages(), "\" or \""))), nil
		}
		var others []string
		for _, q := range req.GetStringSlice("queries", nil) {
			if q = clipped(q); q != "" && len(others) < maxQueries {
				others = append(others, q)
			}
		}
		found, err := f.Search(ctx, knowledge.Query{
			Text: query, Others: others, About: clipped(req.GetString("about", "")), Language: lang, Passage: req.GetString("passage", ""),
		}, maxResults)
		if err != nil {
			return nil, err
		}
		if p := f.Progress(); p.Done < p.Files {
			t.log.InfoContext(ctx, "searched while the folder is still being indexed", "tool", f.Name(), "done", p.Done, "files", p.Files)
			found.Note = strings.TrimSpace(found.Note + " " + stillReading)
		}
		a := answered{results: resultsOf(found.Results), doubtful: found.Doubtful, perhaps: resultsOf(found.Perhaps), note: found.Note, lang: lang}
		if len(a.results) == 0 && len(a.perhaps) > 0 {
			a.note = strings.TrimSpace(onlyPerhaps + " " + a.note)
		}
		return t.answer(ctx, f.Name(), a), nil
	}
}

// stillReading tells a model that a later search may find more.
const stillReading = "Not all documents of this folder have been read yet."

// onlyPerhaps tells a model what passages below the threshold are, and what it can do.
const onlyPerhaps = "Nothing surely answers this. What is listed under perhaps holds only a part of the question, and may be about something else: " +
	"search again in the words that the documents would use, with queries, before you say that there is nothing."

func resultsOf(passages []knowledge.Result) []Result {
	var all []Result
	for _, p := range passages {
		all = append(all, Result{Title: p.Title, Content: p.Content, Link: p.Link, Place: &p.Place, Score: p.Score})
	}
	return all
}

// close stops the indexing of the folders.
func (t *tools) close() error {
	for _, f := range t.folders {
		f.Close()
	}
	return nil
}

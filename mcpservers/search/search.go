package search

import (
	"context"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers"
	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// name is the server's name in methods and tools.
const name = schemas.ToolServer

const (
	version    = "1.0.0"
	maxResults = 5
	maxQuery   = 500 // characters of a query; an engine ignores more
)

// Config configures the tools.
type Config struct {
	DuckDuckGo DuckDuckGoConfig
	// Google answers a query from Google Search, best page first. Nil removes the tool
	// google_search. Its errors are worded for the tool's caller.
	Google func(ctx context.Context, query string) ([]Result, error)
	// Folders each get a search tool under their name. The server closes them.
	Folders []*knowledge.Folder
	// Logger may be nil. It gets counts and lengths, never the query.
	Logger *slog.Logger
}

// A Result is one page or guide entry.
type Result struct {
	Title   string `json:"title"`
	Content string `json:"content"`
	Link    string `json:"link"`
	// Place is where a passage of a folder stands; nil for a page of the web.
	Place *schemas.Place `json:"place,omitempty"`
	// Score is between 0 and 1, 1 the best. On the web it only reflects the rank.
	Score float64 `json:"score"`
}

// tools are the functions behind the server's tools.
type tools struct {
	duck    *duckDuckGo
	google  func(ctx context.Context, query string) ([]Result, error)
	folders []*knowledge.Folder
	log     *slog.Logger
}

// New returns the server. Nothing is indexed or fetched before the first call.
func New(c Config) (*mcpservers.Dispatcher, error) {
	duck, err := newDuckDuckGo(c.DuckDuckGo)
	if err != nil {
		return nil, err
	}
	t := &tools{duck: duck, google: c.Google, folders: c.Folders, log: c.Logger}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	s := server.NewMCPServer(name, version, server.WithToolCapabilities(false))
	s.AddTool(duckDuckGoTool(), t.searchWeb)
	if c.Google != nil {
		s.AddTool(googleTool(), t.searchGoogle)
	}
	for _, f := range t.folders {
		s.AddTool(folderTool(f), t.searchFolder(f))
	}
	t.addResources(s)
	return mcpservers.New(mcpservers.Config{
		Name: name, Version: version, MCP: s, Methods: map[string]mcpservers.Method{"resources/read": t.readResource}, Close: t.close, Logger: c.Logger,
	})
}

func duckDuckGoTool() mcp.Tool {
	return mcp.NewTool("duckduckgo_search",
		mcp.WithDescription("Search using DuckDuckGo (free, unlimited, privacy-focused). Returns up to 5 relevant search results with titles, content snippets, and links."),
		mcp.WithString("query", mcp.Required(),
			mcp.Description("Search query - should be specific and descriptive for best results")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(true),
	)
}

func googleTool() mcp.Tool {
	return mcp.NewTool("google_search",
		mcp.WithDescription("Search with Google. Returns up to 5 relevant search results with titles, content snippets, and links; every call costs one call of a Gemini model."),
		mcp.WithString("query", mcp.Required(),
			mcp.Description("Search query - should be specific and descriptive for best results")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false),
		mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(true),
	)
}

func (t *tools) searchWeb(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query, bad := queryOf(req)
	if bad != nil {
		return bad, nil
	}
	results, err := t.duck.search(ctx, query)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return t.answer(ctx, "duckduckgo_search", answered{results: results}), nil
}

func (t *tools) searchGoogle(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query, bad := queryOf(req)
	if bad != nil {
		return bad, nil
	}
	results, err := t.google(ctx, query)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return t.answer(ctx, "google_search", answered{results: ranked(results)}), nil
}

// queryOf returns the query in one line, or the tool error with its fault.
func queryOf(req mcp.CallToolRequest) (string, *mcp.CallToolResult) {
	query, err := req.RequireString("query")
	if err != nil {
		return "", mcp.NewToolResultError("the argument \"query\" is missing or no text: give the words to search for")
	}
	if query = clipped(query); query == "" {
		return "", mcp.NewToolResultError("the argument \"query\" is empty: give the words to search for")
	}
	return query, nil
}

// clipped returns the searched part of a text, in one line.
func clipped(s string) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, " ")), " "))
	return string(runes[:min(len(runes), maxQuery)])
}

// answered is the answer of a search.
type answered struct {
	results []Result
	// doubtful is set if the results may well be the wrong ones, as a folder judges them.
	doubtful bool
	// perhaps are passages that hold too little of the question; only a folder without results has them.
	perhaps []Result
	// note tells the caller about the results.
	note string
	// lang is the language of places.
	lang string
}

func (t *tools) answer(ctx context.Context, tool string, a answered) *mcp.CallToolResult {
	t.log.DebugContext(ctx, "search answered", "tool", tool, "results", len(a.results), "perhaps", len(a.perhaps))
	structured := map[string]any{"results": append([]Result{}, a.results...)} // an empty list, not null
	if len(a.perhaps) > 0 {
		structured["perhaps"] = a.perhaps
	}
	if a.doubtful {
		structured["doubtful"] = true
	}
	if a.note != "" {
		structured["note"] = a.note
	}
	return mcp.NewToolResultStructured(structured, a.text())
}

// text formats an answer for models and source lists that read no JSON.
func (a answered) text() string {
	var blocks []string
	for _, r := range append(a.results, a.perhaps...) {
		block := "Title: " + oneLine(r.Title) + "\nContent:" + inside(r.Content)
		if r.Place != nil {
			block += "\nPlace: " + oneLine(r.Place.Text(a.lang))
		}
		blocks = append(blocks, block+"\nLink: "+oneLine(r.Link))
	}
	text := strings.Join(blocks, "\n---\n")
	if len(a.results) > 0 {
		return strings.TrimSpace(text + "\n\n" + a.note)
	}
	text = strings.TrimSpace("Perhaps:\n" + text)
	if len(a.perhaps) == 0 {
		text = ""
	}
	return strings.TrimSpace("No results. " + a.note + "\n\n" + text)
}

// oneLine prevents foreign text from opening a block or a link line of its own.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// inside does the same for a text whose lines matter, such as those of a table or of code: it begins
// each with a sign of quotation, as readers of lines ignore spaces before them.
func inside(s string) string {
	const ends = "\n\r\v\f\u0085\u2028\u2029"
	lines := strings.FieldsFunc(strings.TrimSpace(s), func(r rune) bool { return strings.ContainsRune(ends, r) })
	if len(lines) <= 1 {
		return " " + oneLine(s)
	}
	return "\n> " + strings.Join(lines, "\n> ")
}

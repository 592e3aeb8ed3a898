package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Limits of the records and tags of a call.
const (
	defaultSize = 5
	maxSize     = 50
	defaultTags = 30
)

type searchArgs struct {
	Query string `json:"query"`
	Size  *int   `json:"size"`
}

type recordArgs struct {
	UUID string `json:"uuid"`
}

type tagArgs struct {
	Size *int `json:"size"`
}

type tagList struct {
	Tags []tagCount `json:"tags"`
}

// handlers answer the tools and prompts.
type handlers struct{ catalogue *catalogue }

func addTools(s *server.MCPServer, h handlers) {
	s.AddTool(mcp.NewTool("search_catalogue",
		mcp.WithDescription("Search the SDI catalogue for geospatial metadata records: data sets, services and maps. Returns the title, abstract, tags and UUID of each; use get_record for the links to the data."),
		mcp.WithString("query", mcp.Required(), mcp.MinLength(1), mcp.Description("Words to search for, such as \"water quality\"")),
		mcp.WithInteger("size", mcp.Description("Number of results to return"), mcp.DefaultNumber(defaultSize), mcp.Min(1), mcp.Max(maxSize)),
		mcp.WithOutputSchema[page](),
		readOnly(),
	), mcp.NewTypedToolHandler(h.search))
	s.AddTool(mcp.NewTool("get_record",
		mcp.WithDescription("Show one record of the SDI catalogue by its UUID, with all links to its data and services."),
		mcp.WithString("uuid", mcp.Required(), mcp.MinLength(1), mcp.Description("The record's UUID, as search_catalogue returns it")),
		mcp.WithOutputSchema[record](),
		readOnly(),
	), mcp.NewTypedToolHandler(h.record))
	s.AddTool(mcp.NewTool("list_tags",
		mcp.WithDescription("List the tags (keywords) that most records of the SDI catalogue have, with the number of records of each."),
		mcp.WithInteger("size", mcp.Description("Number of tags to return"), mcp.DefaultNumber(defaultTags), mcp.Min(1), mcp.Max(maxSize)),
		mcp.WithOutputSchema[tagList](),
		readOnly(),
	), mcp.NewTypedToolHandler(h.tags))
}

// readOnly annotates a tool that changes nothing and reads data outside.
func readOnly() mcp.ToolOption {
	yes, no := true, false
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &yes,
	})
}

func (h handlers) search(ctx context.Context, _ mcp.CallToolRequest, args searchArgs) (*mcp.CallToolResult, error) {
	words := strings.TrimSpace(args.Query)
	if words == "" {
		return mcp.NewToolResultError("query is empty: give words to search for"), nil
	}
	found, err := h.catalogue.search(ctx, words, within(args.Size, defaultSize))
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	for i := range found.Records {
		found.Records[i] = found.Records[i].short()
	}
	return mcp.NewToolResultStructured(found, describeFound(words, found)), nil
}

func (h handlers) record(ctx context.Context, _ mcp.CallToolRequest, args recordArgs) (*mcp.CallToolResult, error) {
	id := strings.TrimSpace(args.UUID)
	if id == "" {
		return mcp.NewToolResultError("uuid is empty: find it with search_catalogue"), nil
	}
	r, ok, err := h.catalogue.get(ctx, id)
	switch {
	case err != nil:
		return mcp.NewToolResultError(err.Error()), nil
	case !ok:
		return mcp.NewToolResultError(fmt.Sprintf("the catalogue has no record %q: find the right UUID with search_catalogue", id)), nil
	}
	return mcp.NewToolResultStructured(r, r.describe()), nil
}

func (h handlers) tags(ctx context.Context, _ mcp.CallToolRequest, args tagArgs) (*mcp.CallToolResult, error) {
	tags, err := h.catalogue.tags(ctx, within(args.Size, defaultTags))
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The %d most used tags:", len(tags))
	for _, t := range tags {
		fmt.Fprintf(&b, "\n- %s (%d)", t.Tag, t.Records)
	}
	return mcp.NewToolResultStructured(tagList{tags}, b.String()), nil
}

// within returns the requested number, or the default, inside the limits.
func within(wanted *int, usual int) int {
	if wanted == nil {
		return usual
	}
	return min(max(*wanted, 1), maxSize)
}

func describeFound(words string, p page) string {
	if len(p.Records) == 0 {
		return fmt.Sprintf("Found nothing for '%s'. Try fewer or other words.", words)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d results for '%s'", p.Total, words)
	if p.Total > len(p.Records) {
		fmt.Fprintf(&b, ", the first %d of them", len(p.Records))
	}
	b.WriteString(":")
	for i, r := range p.Records {
		fmt.Fprintf(&b, "\n\n%d. %s", i+1, r.describe())
	}
	return b.String()
}

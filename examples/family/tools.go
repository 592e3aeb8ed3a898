package family

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxFound is the largest number of families in an answer of search_family.
const maxFound = 10

// searchArgs and detailsArgs are the arguments of the tools.
type searchArgs struct {
	Query string `json:"query"`
}

type detailsArgs struct {
	FamilyID string `json:"familyId"`
}

// A match is one result of search_family.
type match struct {
	FamilyID string `json:"familyId"`
	Name     string `json:"name"`
	Members  int    `json:"memberCount"`
}

type searchResult struct {
	Families []match `json:"families"`
	Total    int     `json:"total"`
}

// handlers answer the tools from one list of families, which they never change.
type handlers struct{ families []family }

func addTools(s *server.MCPServer, families []family) {
	h := handlers{families: families}
	s.AddTool(mcp.NewTool("search_family",
		mcp.WithDescription("Find families by family name or by a member's name. Returns the id, name and number of members of each; use get_family_details for the members."),
		mcp.WithString("query", mcp.Required(), mcp.MinLength(1),
			mcp.Description("Part of a family name or a member's name, in any case, with or without diacritics")),
		mcp.WithOutputSchema[searchResult](),
		readOnly(),
	), mcp.NewTypedToolHandler(h.search))
	s.AddTool(mcp.NewTool("get_family_details",
		mcp.WithDescription("Show a family with all its members: their ids, names and dates of birth."),
		mcp.WithString("familyId", mcp.Required(), format("uuid"),
			mcp.Description("The family's id, a UUID as search_family returns it")),
		mcp.WithOutputSchema[family](),
		readOnly(),
	), mcp.NewTypedToolHandler(h.details))
}

// readOnly annotates a tool that changes nothing and reads only its own data.
func readOnly() mcp.ToolOption {
	yes, no := true, false
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no,
	})
}

func format(name string) mcp.PropertyOption {
	return func(schema map[string]any) { schema["format"] = name }
}

func (h handlers) search(_ context.Context, _ mcp.CallToolRequest, args searchArgs) (*mcp.CallToolResult, error) {
	if strings.TrimSpace(args.Query) == "" {
		return mcp.NewToolResultError("query is empty: give part of a family name or of a member's name"), nil
	}
	found := search(h.families, args.Query)
	result := searchResult{Families: []match{}, Total: len(found)}
	for _, f := range found[:min(len(found), maxFound)] {
		result.Families = append(result.Families, match{FamilyID: f.FamilyID, Name: f.Name, Members: len(f.Members)})
	}
	return mcp.NewToolResultStructured(result, describeFound(result)), nil
}

func (h handlers) details(_ context.Context, _ mcp.CallToolRequest, args detailsArgs) (*mcp.CallToolResult, error) {
	id, err := uuid.Parse(strings.TrimSpace(args.FamilyID))
	if err != nil {
		return mcp.NewToolResultError(fmt.Sprintf("familyId %q is no UUID: find the family's id with search_family", args.FamilyID)), nil
	}
	f, ok := byID(h.families, id.String())
	if !ok {
		return mcp.NewToolResultError(fmt.Sprintf("no family has the id %s: find the right id with search_family", id)), nil
	}
	return mcp.NewToolResultStructured(f, describeFamily(f)), nil
}

func describeFound(r searchResult) string {
	if r.Total == 0 {
		return "No family found. Try a shorter part of the name."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d found:", r.Total)
	for _, m := range r.Families {
		fmt.Fprintf(&b, "\n- %s (ID: %s), %d members", m.Name, m.FamilyID, m.Members)
	}
	return b.String()
}

func describeFamily(f family) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Family %s (ID: %s) has %d members:", f.Name, f.FamilyID, len(f.Members))
	for _, m := range f.Members {
		fmt.Fprintf(&b, "\n- %s, born %s", m.Name, m.DOB)
	}
	return b.String()
}

package family

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"molar/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start builds the program, runs it and shakes hands with it over its pipes.
func start(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.NewStdioMCPClient(testkit.Build(t, "molar/examples/family/server"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), init); err != nil {
		t.Fatal(err)
	}
	return c
}

func call(t *testing.T, c *client.Client, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, args
	result, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d parts, want 1", len(r.Content))
	}
	text, ok := mcp.AsTextContent(r.Content[0])
	if !ok {
		t.Fatalf("content %T is no text", r.Content[0])
	}
	return text.Text
}

func TestServer_OverStdio(t *testing.T) {
	c := start(t)
	t.Run("tools are described", func(t *testing.T) { testTools(t, c) })
	t.Run("details", func(t *testing.T) { testDetails(t, c) })
	t.Run("search", func(t *testing.T) { testSearch(t, c) })
	t.Run("errors say what to do", func(t *testing.T) { testErrors(t, c) })
}

func testTools(t *testing.T, c *client.Client) {
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"search_family": "query", "get_family_details": "familyId"}
	if len(list.Tools) != len(want) {
		t.Fatalf("%d tools, want %d", len(list.Tools), len(want))
	}
	for _, tool := range list.Tools {
		if diff := cmp.Diff([]string{want[tool.Name]}, tool.InputSchema.Required); diff != "" {
			t.Errorf("%s: %s", tool.Name, diff)
		}
		property, _ := tool.InputSchema.Properties[want[tool.Name]].(map[string]any)
		if property["type"] != "string" || property["description"] == nil || tool.Description == "" {
			t.Errorf("%s: property %v, description %q", tool.Name, property, tool.Description)
		}
		if hint := tool.Annotations.ReadOnlyHint; hint == nil || !*hint {
			t.Errorf("%s is not marked as read-only", tool.Name)
		}
	}
}

func testDetails(t *testing.T, c *client.Client) {
	for _, id := range []string{"1a955fff-ce01-422f-8bb3-02ab14e8ec47", " 1A955FFF-CE01-422F-8BB3-02AB14E8EC47 "} {
		result := call(t, c, "get_family_details", map[string]any{"familyId": id})
		data, err := json.Marshal(result.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		var got family
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		want := family{FamilyID: "1a955fff-ce01-422f-8bb3-02ab14e8ec47", Name: "Nguyen", Members: []member{
			{ID: "m1", Name: "Nguyen Van A", DOB: "1970-01-01"}, {ID: "m2", Name: "Nguyen Van B", DOB: "1995-05-05"},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if text := textOf(t, result); !strings.Contains(text, "Nguyen Van A, born 1970-01-01") {
			t.Errorf("text %q", text)
		}
	}
}

func testSearch(t *testing.T, c *client.Client) {
	for query, want := range map[string]string{
		"nguyen": "2 found:\n- Nguyen (ID: 1a955fff-ce01-422f-8bb3-02ab14e8ec47), 2 members\n- Nguyễn Phúc",
		"NGUYỄN": "2 found:",
		"duc":    "- Lê (ID: ",
		"olivia": "- Smith (ID: ",
		"zzz":    "No family found.",
	} {
		result := call(t, c, "search_family", map[string]any{"query": query})
		if text := textOf(t, result); result.IsError || !strings.Contains(text, want) {
			t.Errorf("%q: isError %v, text %q, want %q", query, result.IsError, text, want)
		}
		if result.StructuredContent == nil {
			t.Errorf("%q: no structured content", query)
		}
	}
}

func testErrors(t *testing.T, c *client.Client) {
	for _, tc := range []struct {
		tool string
		args any
	}{
		{"get_family_details", map[string]any{"familyId": "00000000-0000-0000-0000-000000000000"}},
		{"get_family_details", map[string]any{"familyId": "nguyen"}},
		{"get_family_details", map[string]any{}},
		{"search_family", map[string]any{"query": "  "}},
		{"search_family", map[string]any{}},
	} {
		result := call(t, c, tc.tool, tc.args)
		text := textOf(t, result)
		if !result.IsError || (!strings.Contains(text, "search_family") && !strings.Contains(text, "give part of")) {
			t.Errorf("%s(%v): isError %v, text %q", tc.tool, tc.args, result.IsError, text)
		}
	}
	if result := call(t, c, "search_family", map[string]any{"query": 7}); !result.IsError {
		t.Errorf("a number was taken as a query: %q", textOf(t, result))
	}
}

func TestServe_EndsWithItsInput(t *testing.T) {
	var out bytes.Buffer
	if err := Serve(context.Background(), strings.NewReader(""), &out); err != nil {
		t.Errorf("at the end of the input: %v", err)
	}
}

package mcpclients

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestList_CleansTexts(t *testing.T) {
	listed := func(description string) (schemas.ToolInfo, []string) {
		t.Helper()
		tools, skipped, err := list(t.Context(), pageConn{page: json.RawMessage(`{"tools":[{"name":"a","description":"` + description + `"}]}`)}, "s")
		if err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		return tools[0], skipped
	}
	whole := "be kind\nnow " + strings.Repeat("ữ", 2000)
	if tool, skipped := listed(`be\u200b kind\u0007\nnow\udb40\udc41 ` + strings.Repeat("ữ", 2000)); tool.Description != whole || skipped != nil {
		t.Errorf("%d bytes: %.40q; %q", len(tool.Description), tool.Description, skipped)
	}
	tool, skipped := listed(strings.Repeat("ữ", 40_000))
	if !strings.HasSuffix(tool.Description, text.Mark) || len(tool.Description) > maxDescription || !utf8.ValidString(tool.Description) {
		t.Errorf("%d bytes: %.40q", len(tool.Description), tool.Description)
	}
	if want := []string{"a: only the first 65536 of the 120000 bytes of its description are kept"}; !slices.Equal(skipped, want) {
		t.Errorf("%q, want %q", skipped, want)
	}
}

// Nobody can call a tool whose arguments are not an object.
func TestDecodeTool_TakesAnObject(t *testing.T) {
	for schema, want := range map[string]bool{
		`{}`: true, `null`: true, `{"type":"object"}`: true, `{"type":["array","object"]}`: true, `{"type":"dict"}`: true, `{"type":7}`: true, `{"type":[]}`: true,
		`{"type":"array","items":{}}`: false, `{"type":["string","null"]}`: false, `{"type":"null"}`: false,
	} {
		if _, err := decodeTool(json.RawMessage(`{"name":"a","inputSchema":` + schema + `}`)); (err == nil) != want {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// pageConn answers tools/list with one page.
type pageConn struct {
	transport.Conn
	page json.RawMessage
}

func (c pageConn) Request(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return c.page, nil
}

func FuzzListTools(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}},7,{"name":"a"}]}`))
	f.Add([]byte(`{"tools":[],"nextCursor":"x"}`))
	f.Add([]byte(`{"tools":null}`))
	f.Add([]byte(`{"tools":[{"name":"\u0000","description":"\ud800"}]}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		tools, _, err := list(t.Context(), pageConn{page: page}, "s")
		if err != nil {
			return
		}
		for _, tool := range tools {
			if transport.ValidateName(tool.ToolName) != nil || tool.Server != "s" || schemas.CheckJSON(tool.InputSchema) != nil {
				t.Errorf("bad tool got through: %+v", tool)
			}
		}
	})
}

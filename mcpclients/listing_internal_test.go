package mcpclients

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestDecodeTool_CleansTexts(t *testing.T) {
	tool, err := decodeTool(json.RawMessage(`{"name":"a","description":"be\u200b kind\u0007\nnow\udb40\udc41 ` + strings.Repeat("ữ", 2000) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(tool.Description, "be kind\nnow ữ") || !strings.HasSuffix(tool.Description, text.Mark) ||
		len(tool.Description) > maxDescription || !utf8.ValidString(tool.Description) {
		t.Errorf("%d bytes: %.40q", len(tool.Description), tool.Description)
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

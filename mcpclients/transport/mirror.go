package transport

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"molar/schemas"
)

// requestHeaders repeats in the header what gateways in front of a stateless server
// want to see without reading the message.
func (c *httpConn) requestHeaders(method string, params json.RawMessage) http.Header {
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(ProtocolStateless, mcp.MCPMethod(method), params) {
		header.Set(name, value)
	}
	tools := c.mirrored.Load()
	if method != MethodCallTool || tools == nil {
		return header
	}
	var call struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(params, &call) != nil {
		return header
	}
	if schema, ok := (*tools)[call.Name]; ok {
		for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{RawInputSchema: schema}, params) {
			header.Set(name, value)
		}
	}
	return header
}

// MirrorTools keeps the schemas of the tools that want arguments repeated in headers
// and leaves out those that want it wrongly.
func (c *httpConn) MirrorTools(tools []schemas.ToolInfo) (kept []schemas.ToolInfo, skipped []string) {
	if !c.stateless {
		return tools, nil
	}
	mirrored := map[string]json.RawMessage{}
	for _, t := range tools {
		if strings.Contains(string(t.InputSchema), "x-mcp-header") {
			if err := mcp.ValidateParamHeaderAnnotations(&mcp.Tool{RawInputSchema: t.InputSchema}); err != nil {
				skipped = append(skipped, fmt.Sprintf("%s: %v", t.ToolName, err))
				continue
			}
			mirrored[t.ToolName] = t.InputSchema
		}
		kept = append(kept, t)
	}
	c.mirrored.Store(&mirrored)
	return kept, skipped
}

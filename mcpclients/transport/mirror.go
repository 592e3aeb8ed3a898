package transport

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"molar/schemas"
)

// requestHeaders returns the headers that gateways of a stateless server need to route without
// reading the message.
func (c *httpConn) requestHeaders(method string, params json.RawMessage) http.Header {
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(ProtocolStateless, mcp.MCPMethod(method), params) {
		header.Set(name, value)
	}
	tools := c.headerSchemas.Load()
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

// MirrorTools records the schemas of the tools whose arguments are repeated in headers, and skips
// tools with invalid header annotations.
func (c *httpConn) MirrorTools(tools []schemas.ToolInfo) (kept []schemas.ToolInfo, skipped []string) {
	if !c.stateless {
		return tools, nil
	}
	headerSchemas := map[string]json.RawMessage{}
	for _, t := range tools {
		if strings.Contains(string(t.InputSchema), "x-mcp-header") {
			if err := mcp.ValidateParamHeaderAnnotations(&mcp.Tool{RawInputSchema: t.InputSchema}); err != nil {
				skipped = append(skipped, fmt.Sprintf("%s: %v", t.ToolName, err))
				continue
			}
			headerSchemas[t.ToolName] = t.InputSchema
		}
		kept = append(kept, t)
	}
	c.headerSchemas.Store(&headerSchemas)
	return kept, skipped
}

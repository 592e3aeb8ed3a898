package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/internal/telemetry"
	"molar/schemas"
)

// callBody is the body of POST /v1/tools/{name}/call.
type callBody struct {
	// Arguments is a JSON object; nothing stands for no arguments.
	Arguments json.RawMessage `json:"arguments"`
}

// A calledObject is what a call by hand gave.
type calledObject struct {
	Object string `json:"object"`
	// Name is the offered name.
	Name string `json:"name"`
	// Status is "ok" or "tool_error".
	Status string             `json:"status"`
	Result schemas.ToolResult `json:"result"`
	// DurationMS is how long the call took, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
}

// callTool runs a tool for an operator. What the tool itself has to complain about is
// a result; what kept it from running is an error.
func (s *server) callTool(c *gin.Context) {
	var body callBody
	if err := readBody(c.Request, &body); err != nil {
		writeError(c.Writer, failureOf(err))
		return
	}
	if args := strings.TrimSpace(string(body.Arguments)); args != "" && args != "null" && args[0] != '{' {
		writeError(c.Writer, invalid("arguments", "arguments must be a JSON object"))
		return
	}
	tool, found := s.findTool(c.Param("name"))
	switch {
	case !found:
		writeError(c.Writer, noTool())
		return
	case tool.Rules.Policy == schemas.PolicyDeny:
		writeError(c.Writer, &apiError{
			status: http.StatusForbidden, kind: typeInvalid, code: "tool_denied", param: "name",
			message: "the policy of this tool is deny; change the config to call it",
		})
		return
	case tool.Withheld != "":
		writeError(c.Writer, &apiError{
			status: http.StatusConflict, kind: typeInvalid, code: "tool_withheld", param: "name", noRetry: true,
			message: "this tool is withheld: " + tool.Withheld,
		})
		return
	}
	out, err := s.Operations.CallTool(c.Request.Context(), tool.Name, body.Arguments)
	if err != nil {
		s.operationError(c, "call a tool", err)
		return
	}
	if e := callFault(out); e != nil {
		writeError(c.Writer, e)
		return
	}
	writeJSON(c.Writer, calledObject{
		Object: "tool.call", Name: tool.Name, Status: out.Status, Result: out.Result,
		DurationMS: float64(out.Took.Microseconds()) / 1000,
	})
}

// callFault is the error of a call that was not run to its end, or nil. Once the tool
// may have begun, no status may invite a client to repeat the call.
func callFault(out ToolOutcome) *apiError {
	e := &apiError{kind: typeServer, code: "tool_" + out.Status, param: "arguments", message: out.Result.OutputText()}
	switch out.Status {
	case "ok", "tool_error":
		return nil
	case "invalid_arguments":
		e.status, e.kind, e.code = http.StatusBadRequest, typeInvalid, out.Status
		return e
	case "timeout":
		e.status = http.StatusGatewayTimeout
	default:
		e.status = http.StatusBadGateway
	}
	return e.afterTool()
}

// listCalls lists the last tool calls, newest first; ?server=, ?tool=, ?turn= and
// ?limit= narrow them.
func (s *server) listCalls(c *gin.Context) {
	limit := defaultPage
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 500 {
			writeError(c.Writer, invalid("limit", "limit must be a number from 1 to 500"))
			return
		}
		limit = n
	}
	var found []telemetry.Call
	for _, call := range s.Telemetry.Calls() {
		fits := func(key, value string) bool { return c.Query(key) == "" || c.Query(key) == value }
		if fits("server", call.Server) && fits("tool", call.Tool) && fits("turn", call.TurnID) {
			found = append(found, call)
		}
		if len(found) == limit {
			break
		}
	}
	writeJSON(c.Writer, listOf(found))
}

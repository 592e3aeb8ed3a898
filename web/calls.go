package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/internal/telemetry"
	"molar/schemas"
	"molar/web/wire"
)

// callBody is the body of POST /v1/tools/{name}/call.
type callBody struct {
	// Arguments is a JSON object; absent means no arguments.
	Arguments json.RawMessage `json:"arguments"`
}

// A calledObject is the result of an operator's call.
type calledObject struct {
	Object string `json:"object"`
	// Name is the offered name of the tool.
	Name string `json:"name"`
	// Status is "ok" or "tool_error".
	Status string             `json:"status"`
	Result schemas.ToolResult `json:"result"`
	// DurationMS is how long the call took, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
}

// callTool runs a tool for an operator. A failure of the tool itself is a result; a failure to call
// it is an error.
func (s *server) callTool(c *gin.Context) {
	var body callBody
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	if args := strings.TrimSpace(string(body.Arguments)); args != "" && args != "null" && args[0] != '{' {
		wire.WriteError(c.Writer, wire.Invalid("arguments", "arguments must be a JSON object"))
		return
	}
	tool, found := s.findTool(c.Param("name"))
	switch {
	case !found:
		wire.WriteError(c.Writer, noTool())
		return
	case tool.Rules.Policy == schemas.PolicyDeny:
		wire.WriteError(c.Writer, &wire.Error{
			Status: http.StatusForbidden, Kind: wire.TypeInvalid, Code: "tool_denied", Param: "name",
			Message: "the policy of this tool is deny; change the config to call it",
		})
		return
	case tool.Withheld != "":
		wire.WriteError(c.Writer, &wire.Error{
			Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: "tool_withheld", Param: "name", NoRetry: true,
			Message: "this tool is withheld: " + tool.Withheld,
		})
		return
	}
	out, err := s.Operations.CallTool(c.Request.Context(), tool.Name, body.Arguments)
	if err != nil {
		s.operationError(c, "call a tool", err)
		return
	}
	if e := callFault(out); e != nil {
		wire.WriteError(c.Writer, e)
		return
	}
	wire.WriteJSON(c.Writer, calledObject{
		Object: "tool.call", Name: tool.Name, Status: out.Status, Result: out.Result,
		DurationMS: float64(out.Took.Microseconds()) / 1000,
	})
}

// callFault returns the error of a call that did not complete, or nil. If the tool may have begun,
// the status is one on which clients do not repeat the call.
func callFault(out ToolOutcome) *wire.Error {
	e := &wire.Error{Kind: wire.TypeServer, Code: "tool_" + out.Status, Param: "arguments", Message: out.Result.OutputText()}
	switch out.Status {
	case "ok", "tool_error":
		return nil
	case "invalid_arguments":
		e.Status, e.Kind, e.Code = http.StatusBadRequest, wire.TypeInvalid, out.Status
		return e
	case "timeout":
		e.Status = http.StatusGatewayTimeout
	default:
		e.Status = http.StatusBadGateway
	}
	return e.AfterTool()
}

// listCalls lists the latest tool calls, newest first; ?server=, ?tool=, ?turn= and ?limit=
// filter them.
func (s *server) listCalls(c *gin.Context) {
	limit := defaultPage
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 500 {
			wire.WriteError(c.Writer, wire.Invalid("limit", "limit must be a number from 1 to 500"))
			return
		}
		limit = n
	}
	var calls []telemetry.Call
	for _, call := range s.Telemetry.Calls() {
		fits := func(key, value string) bool { return c.Query(key) == "" || c.Query(key) == value }
		if fits("server", call.Server) && fits("tool", call.Tool) && fits("turn", call.TurnID) {
			calls = append(calls, call)
		}
		if len(calls) == limit {
			break
		}
	}
	wire.WriteJSON(c.Writer, listOf(calls))
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"molar/providers"
	"molar/schemas"
	"molar/schemas/lower"
	"molar/web/wire"
)

// Operations are the operations of an operator over HTTP. A nil one has no route. Clients see the
// text of an error only if it is one of [ErrUnknown], [ErrConflict] and [ErrInvalid].
type Operations struct {
	// SwitchTool turns a tool off or on, and stores the switch.
	SwitchTool func(ctx context.Context, name string, on bool) error
	// CallTool runs a tool as an operator, through all checks of a model's call except a
	// person's approval.
	CallTool func(ctx context.Context, name string, arguments json.RawMessage) (ToolOutcome, error)
	// ApproveServer approves the current tools of a pinned server, unless digest is set and no
	// longer theirs, and returns the names of those that were withheld.
	ApproveServer func(ctx context.Context, server, digest string) ([]string, error)
	// Propose returns what to propose about a server's tools, and ConfirmServer puts in force what a
	// person confirms of it.
	Propose       func(server schemas.ServerStatus) *schemas.Proposal
	ConfirmServer func(ctx context.Context, confirmed schemas.Proposal) error
	// TestProvider makes one small call of a model.
	TestProvider func(ctx context.Context, provider, model string) (ProviderTest, error)
	// Providers lists the providers and whether each can answer now.
	Providers func(ctx context.Context) []Provider
	// ServiceOf returns the service whose API a provider speaks; ok is false for an unknown provider.
	// Nil knows only the services themselves.
	ServiceOf func(provider string) (service providers.Service, ok bool)
	// Settings returns the settings and their origin, without secrets.
	Settings func() Settings
	// ImportServers converts pasted text to the form of the config file.
	ImportServers func(text string) (Imported, error)
	// AddServer attaches a remote server by its address and stores it, RemoveServer removes it,
	// and AddedServers lists the names of the servers added this way. None of them runs a
	// program.
	AddServer    func(ctx context.Context, s NewServer) (AddedServer, error)
	RemoveServer func(ctx context.Context, name string) error
	AddedServers func() []string
	// Lint returns remarks about a tool for the person who decides whether to use it.
	Lint func(schemas.Tool) Lint
	// Refusals returns the refusals of a tool that are in force; ForgetRefusals deletes them.
	Refusals       func(schemas.Tool) []schemas.Refusal
	ForgetRefusals func(ctx context.Context, name string) error
	// Classify returns the class of a tool, which is what a call of it may do, and the reason.
	Classify func(schemas.Tool) (class, why string)
}

// operatorRoutes returns the routes of the operations that are set.
func (s *server) operatorRoutes() map[string]operatorRoute {
	routes := map[string]operatorRoute{}
	if s.Operations.SwitchTool != nil {
		routes["/v1/tools/:name"] = operatorRoute{http.MethodPatch, s.switchTool}
	}
	if s.Operations.ForgetRefusals != nil {
		routes["/v1/tools/:name/refusals"] = operatorRoute{http.MethodDelete, s.forgetRefusals}
	}
	if s.Operations.CallTool != nil {
		routes["/v1/tools/:name/call"] = operatorRoute{http.MethodPost, s.callTool}
	}
	if s.Operations.ApproveServer != nil {
		routes["/v1/servers/:name/approve"] = operatorRoute{http.MethodPost, s.approveServer}
	}
	if s.Operations.TestProvider != nil {
		routes["/v1/providers/:name/test"] = operatorRoute{http.MethodPost, s.testProvider}
	}
	if s.Operations.Providers != nil {
		routes["/v1/providers"] = operatorRoute{http.MethodGet, s.listProviders}
	}
	if s.Operations.Settings != nil {
		routes["/v1/config"] = operatorRoute{http.MethodGet, s.listSettings}
	}
	if s.Operations.ImportServers != nil {
		routes["/v1/servers/import"] = operatorRoute{http.MethodPost, s.importServers}
	}
	return routes
}

type operatorRoute struct {
	method string
	handle gin.HandlerFunc
}

// Kinds of error of [Operations]. Clients see their text.
var (
	// ErrUnknown means that nothing has that name.
	ErrUnknown = errors.New("not found")
	// ErrConflict means that the current state does not allow it.
	ErrConflict = errors.New("conflict")
	// ErrInvalid means that the request is invalid.
	ErrInvalid = errors.New("invalid")
)

// A ToolOutcome is the result of an operator's call.
type ToolOutcome struct {
	// Status is "ok" or "tool_error", or the reason why the call did not complete:
	// "invalid_arguments", "refused", "timeout" or "failed".
	Status string
	Result schemas.ToolResult
	Took   time.Duration
}

// A toolObject is a tool as its server declares it, with the operator's decisions.
type toolObject struct {
	schemas.ToolInfo
	Policy     schemas.Policy `json:"policy,omitempty"`
	ReadOnly   bool           `json:"readOnly,omitempty"`
	Idempotent bool           `json:"idempotent,omitempty"`
	// Enabled is the operator's switch. It can only restrict what the config allows.
	Enabled bool `json:"enabled"`
	// Withheld is the reason why the tool is not offered to models; empty if it is offered.
	Withheld string `json:"withheld,omitempty"`
	// Class is what a call may do ("reads", "only adds", "writes"), ClassWhy the reason.
	Class    string `json:"class,omitempty"`
	ClassWhy string `json:"class_why,omitempty"`
	// Refused are the providers that refused the tool; it is not offered to them.
	Refused []refusedObject `json:"refused,omitempty"`
	// Lint is set if requested.
	Lint *Lint `json:"lint,omitempty"`
	// Lowered is the schema as it is sent to the requested provider.
	Lowered *loweredObject `json:"lowered,omitempty"`
}

// A refusedObject is a provider's refusal of a tool.
type refusedObject struct {
	schemas.Refusal
	// Until is the time at which the tool is offered to the provider again, unless the tool
	// changes earlier.
	Until time.Time `json:"until"`
}

// A loweredObject is a tool's input schema as it is sent to a provider.
type loweredObject struct {
	Provider string          `json:"provider"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	// Hint is added to the description. It describes constraints that the provider has no
	// keywords for.
	Hint  string   `json:"hint,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Refused is the reason why the tool cannot be offered to the provider.
	Refused string `json:"refused,omitempty"`
}

func (s *server) toolOf(t schemas.Tool) toolObject {
	o := toolObject{
		ToolInfo: t.ToolInfo, Policy: t.Rules.Policy, ReadOnly: t.Rules.ReadOnly, Idempotent: t.Rules.Idempotent,
		Enabled: !t.Off, Withheld: t.Withheld,
	}
	if s.Operations.Classify != nil {
		o.Class, o.ClassWhy = s.Operations.Classify(t)
	}
	if s.Operations.Refusals != nil {
		for _, r := range s.Operations.Refusals(t) {
			o.Refused = append(o.Refused, refusedObject{r, r.Until()})
		}
	}
	if o.Withheld == "" && o.Policy == schemas.PolicyDeny {
		o.Withheld = "its policy is deny"
	}
	return o
}

// lowering returns the function that adapts schemas to a provider; it is nil for a provider that
// accepts schemas unchanged. ok is false for an unknown provider.
func (s *server) lowering(provider string) (low func(json.RawMessage) (lower.Result, error), ok bool) {
	find := providers.Find
	if s.Operations.ServiceOf != nil {
		find = s.Operations.ServiceOf
	}
	service, ok := find(provider)
	return service.Lower, ok || provider == ""
}

// providerNames returns the names of the providers whose schemas can be requested, as a text.
func providerNames() string {
	names := slices.Sorted(slices.Values(providers.WithModels()))
	return providers.List(append(names, providers.Offline), "or")
}

// listTools lists the tools; with ?provider= also the schemas as they are sent to that provider.
func (s *server) listTools(c *gin.Context) {
	provider := c.Query("provider")
	low, ok := s.lowering(provider)
	if !ok {
		wire.WriteError(c.Writer, wire.Invalid("provider", "provider must be %s", providerNames()))
		return
	}
	var tools []toolObject
	for _, t := range s.toolsFor(c.Request) {
		o := s.toolOf(t)
		if s.Operations.Lint != nil && c.Query("lint") == "true" {
			o.Lint = new(s.Operations.Lint(t))
		}
		if low != nil {
			o.Lowered = lowered(provider, low, t.InputSchema)
		}
		tools = append(tools, o)
	}
	wire.WriteJSON(c.Writer, listOf(tools))
}

func lowered(provider string, low func(json.RawMessage) (lower.Result, error), schema json.RawMessage) *loweredObject {
	result, err := low(schema)
	if err != nil {
		return &loweredObject{Provider: provider, Refused: err.Error()}
	}
	return &loweredObject{Provider: provider, Schema: result.Schema, Hint: result.Hint, Notes: result.Notes}
}

// switchBody is the body of PATCH /v1/tools/{name}.
type switchBody struct {
	Enabled *bool `json:"enabled"`
}

// switchTool sets the switch of a tool and answers with the tool's new state.
func (s *server) switchTool(c *gin.Context) {
	var body switchBody
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	if body.Enabled == nil {
		wire.WriteError(c.Writer, wire.Invalid("enabled", "enabled must be true or false"))
		return
	}
	tool, found := s.findTool(c.Param("name"))
	if !found {
		wire.WriteError(c.Writer, noTool())
		return
	}
	if err := s.Operations.SwitchTool(c.Request.Context(), tool.Name, *body.Enabled); err != nil {
		s.operationError(c, "switch a tool", err)
		return
	}
	s.record(c.Request, schemas.AuditLine{Event: schemas.EventSwitch, Server: tool.Server, Tool: tool.Name, Allowed: body.Enabled})
	if now, found := s.findTool(tool.Name); found {
		tool = now
	}
	wire.WriteJSON(c.Writer, s.toolOf(tool))
}

// forgetRefusals deletes the refusals of a tool, so that it is offered to all providers again, and
// answers with the tool's new state.
func (s *server) forgetRefusals(c *gin.Context) {
	tool, found := s.findTool(c.Param("name"))
	if !found {
		wire.WriteError(c.Writer, noTool())
		return
	}
	if err := s.Operations.ForgetRefusals(c.Request.Context(), tool.Name); err != nil {
		s.operationError(c, "forget the refusals of a tool", err)
		return
	}
	wire.WriteJSON(c.Writer, s.toolOf(tool))
}

// findTool finds a tool by its offered name, or by its own name if that is unique.
func (s *server) findTool(name string) (schemas.Tool, bool) {
	tools := s.Tools.Tools()
	if i := slices.IndexFunc(tools, func(t schemas.Tool) bool { return t.Name == name }); i >= 0 {
		return tools[i], true
	}
	matches := slices.DeleteFunc(slices.Clone(tools), func(t schemas.Tool) bool { return t.ToolName != name })
	if len(matches) != 1 {
		return schemas.Tool{}, false
	}
	return matches[0], true
}

func noTool() *wire.Error {
	e := wire.NotFound("tool")
	e.Param, e.Message = "name", "no attached server has a tool of that name, or several have; GET /v1/tools lists them"
	return e
}

// operationError answers with an error of [Operations].
func (s *server) operationError(c *gin.Context, what string, err error) {
	switch {
	case errors.Is(err, ErrUnknown):
		wire.WriteError(c.Writer, &wire.Error{Status: http.StatusNotFound, Kind: wire.TypeInvalid, Code: "not_found", Param: "name", Message: err.Error()})
	case errors.Is(err, ErrConflict):
		wire.WriteError(c.Writer, &wire.Error{Status: http.StatusConflict, Kind: wire.TypeInvalid, Code: "conflict", Message: err.Error(), NoRetry: true})
	case errors.Is(err, ErrInvalid):
		wire.WriteError(c.Writer, wire.Invalid("", "%v", err))
	default:
		s.Logger.Error(what, "error", err, "request_id", wire.RequestID(c.Writer))
		wire.WriteError(c.Writer, wire.Failure(err))
	}
}

package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// A wireTool is a tool as a request names it: a function that the client runs, a namespace of such
// functions, an attached server, or a tool that OpenAI hosts.
type wireTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	// Tools are the functions of a namespace.
	Tools []json.RawMessage `json:"tools"`

	// Filters, ExternalWebAccess and VectorStoreIDs belong to searches.
	Filters           json.RawMessage `json:"filters"`
	ExternalWebAccess *bool           `json:"external_web_access"`
	VectorStoreIDs    []string        `json:"vector_store_ids"`

	ServerLabel     string          `json:"server_label"`
	ServerURL       string          `json:"server_url"`
	ConnectorID     string          `json:"connector_id"`
	Authorization   string          `json:"authorization"`
	Headers         json.RawMessage `json:"headers"`
	AllowedTools    json.RawMessage `json:"allowed_tools"`
	RequireApproval json.RawMessage `json:"require_approval"`
}

// A toolbox is the request's choice of tools.
type toolbox struct {
	// schemas checks the schemas of the client's tools.
	schemas *wire.SchemaCheck
	// own are the client's tools.
	own []schemas.ToolInfo
	// functions are those of them that belong to a namespace, by the name in own.
	functions map[string]function
	// byModel and byCode are the host's searches that the model and code may call. searches are those
	// of them that the request names by OpenAI's types, by the tool's own name, and without the
	// folders of knowledge that it excludes.
	byModel, byCode []schemas.Tool
	searches        map[string]string
	without         []schemas.Tool
	// servers limits the tools to those of the named servers; empty allows the tools of all.
	servers map[string]agent.ServerFilter
	// allowed are the tools that tool_choice allows; nil allows all.
	allowed []choice
	// none means that no tool is offered, must that the model has to call one: name, if set.
	none, must bool
	name       string
	// echo are the tools as the response repeats them. choice is the tool_choice of the response
	// if it may differ from that of the request.
	echo   []any
	choice json.RawMessage
	// leftOut are the tools that this host does not have.
	leftOut []absence
}

// A choice is a tool that tool_choice names.
type choice struct {
	Type        string `json:"type"`
	Name        string `json:"name,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	ServerLabel string `json:"server_label,omitempty"`
}

// toolName returns the choice as the agent knows it.
func (c choice) toolName() agent.ToolName {
	if c.Type == "mcp" {
		return agent.ToolName{Server: c.ServerLabel, Name: c.Name}
	}
	return agent.ToolName{Name: joinName(c.Namespace, c.Name)}
}

// readTools reads tools and tool_choice. A request can name only servers that the operator has
// attached.
func (s *Surface) readTools(q *Request) (*toolbox, error) {
	b := &toolbox{searches: map[string]string{}, schemas: &s.schemas, functions: map[string]function{}, servers: map[string]agent.ServerFilter{}, echo: []any{}}
	b.byModel, b.byCode = s.Searches(q.Model)
	for i, raw := range q.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		var t wireTool
		if err := wire.Decode(raw, &t, at); err != nil {
			return b, err
		}
		if err := s.addTool(b, t, raw, at); err != nil {
			return b, err
		}
	}
	if n := len(b.own) + len(b.servers); n > wire.MaxTools {
		return b, wire.Invalid("tools", "%d tools are more than the %d that a request may bring", n, wire.MaxTools)
	}
	if err := s.readChoice(b, q.ToolChoice); err != nil {
		return b, err
	}
	if b.must && len(b.leftOut) > 0 && len(b.leftOut) == len(q.Tools) {
		return b, b.leftOut[0].refusal()
	}
	if b.none {
		b.own = nil
	}
	if b.allowed != nil {
		b.own = slices.DeleteFunc(b.own, func(t schemas.ToolInfo) bool {
			return !slices.ContainsFunc(b.allowed, func(c choice) bool { return c.Type == "function" && joinName(c.Namespace, c.Name) == t.Name })
		})
	}
	return b, nil
}

func (s *Surface) addTool(b *toolbox, t wireTool, raw json.RawMessage, at string) error {
	switch t.Type {
	case "function":
		parameters, err := b.addFunction(function{Name: t.Name}, t, at)
		b.echo = append(b.echo, map[string]any{
			"type": "function", "name": t.Name, "description": t.Description, "parameters": parameters, "strict": t.Strict,
		})
		return err
	case "namespace":
		b.echo = append(b.echo, raw)
		return b.addNamespace(t, at)
	case "mcp":
		b.echo = append(b.echo, raw)
		return s.addServer(b, t, at)
	}
	if kind := hostedKind(t.Type); kind != "" {
		return s.addHosted(b, kind, t, raw, at)
	}
	return wire.Unsupported(at+".type", fmt.Sprintf("a tool of type %q is not known; use function, namespace, or mcp with the server_label of an attached server", wire.Clip(t.Type, 40)))
}

// addFunction adds a function, and returns the schema of its arguments.
func (b *toolbox) addFunction(f function, t wireTool, at string) (json.RawMessage, error) {
	switch {
	case !wire.IsToolName(t.Name):
		return nil, wire.Invalid(at+".name", "a tool's name is 1 to %d characters of A-Z a-z 0-9 _ -", wire.MaxToolName)
	case !wire.IsSet(t.Parameters):
		t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	default:
		if err := b.schemas.Check(t.Parameters, at+".parameters"); err != nil {
			return nil, err
		}
	}
	name := joinName(f.Namespace, f.Name)
	if slices.ContainsFunc(b.own, func(o schemas.ToolInfo) bool { return o.Name == name }) {
		return nil, wire.Invalid(at+".name", "the tool %q is declared twice", name)
	}
	b.own = append(b.own, schemas.ToolInfo{Name: name, ToolName: name, Description: t.Description, InputSchema: t.Parameters})
	return t.Parameters, nil
}

// addServer adds a choice of an attached server. It refuses fields with an address or credentials:
// a client never decides where the host connects.
func (s *Surface) addServer(b *toolbox, t wireTool, at string) error {
	for field, given := range map[string]bool{
		"server_url": t.ServerURL != "", "connector_id": t.ConnectorID != "",
		"authorization": t.Authorization != "", "headers": wire.IsSet(t.Headers),
	} {
		if given {
			return wire.Unsupported(at+"."+field, "a request cannot choose where this host connects or with which credentials; name an attached server by server_label alone")
		}
	}
	if !slices.ContainsFunc(s.Servers(), func(st schemas.ServerStatus) bool { return st.Name == t.ServerLabel }) {
		return wire.Invalid(at+".server_label", "no server %q is attached here; GET /v1/servers lists them", wire.Clip(t.ServerLabel, 100))
	}
	allowed, err := readFilter(t.AllowedTools, at+".allowed_tools")
	if err == nil {
		err = s.checkFilter(allowed, t.ServerLabel, at+".allowed_tools")
	}
	if err != nil {
		return err
	}
	asking, err := readApproval(t.RequireApproval, at+".require_approval")
	if err == nil {
		err = s.checkFilter(asking, t.ServerLabel, at+".require_approval")
	}
	if err != nil {
		return err
	}
	if _, twice := b.servers[t.ServerLabel]; twice {
		return wire.Invalid(at+".server_label", "the server %q is named twice", t.ServerLabel)
	}
	b.servers[t.ServerLabel] = agent.ServerFilter{Allowed: allowed, Asking: asking}
	return nil
}

// checkFilter refuses names of tools that the server does not have. Nothing is known of the tools of
// a server that is away.
func (s *Surface) checkFilter(f agent.ToolFilter, server, at string) error {
	var tools []schemas.Tool
	for _, t := range s.Tools() {
		if t.Server == server {
			tools = append(tools, t)
		}
	}
	for _, name := range f.Names {
		named := func(t schemas.Tool) bool { return t.ToolName == name || t.Name == name }
		if len(tools) > 0 && !slices.ContainsFunc(tools, named) {
			return wire.Invalid(at, "the server %q has no tool %q; GET /v1/tools lists them", server, wire.Clip(name, 100))
		}
	}
	return nil
}

// readFilter reads allowed_tools: names, an object that holds them, or nothing for all.
func readFilter(raw json.RawMessage, at string) (agent.ToolFilter, error) {
	if !wire.IsSet(raw) {
		return agent.ToolFilter{All: true}, nil
	}
	var f agent.ToolFilter
	if json.Unmarshal(raw, &f.Names) == nil {
		return f, nil
	}
	var o struct {
		Names    *[]string `json:"tool_names"`
		ReadOnly bool      `json:"read_only"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return f, wire.Invalid(at, "%s must be a list of names, or an object with tool_names", at)
	}
	if f.All, f.ReadOnly = o.Names == nil, o.ReadOnly; o.Names != nil {
		f.Names = *o.Names
	}
	return f, nil
}

// readApproval reads which tools need approval. It can only make the operator's policy
// stricter, so "never" changes nothing.
func readApproval(raw json.RawMessage, at string) (agent.ToolFilter, error) {
	switch string(raw) {
	case "", "null", `"never"`:
		return agent.ToolFilter{}, nil
	case `"always"`:
		return agent.ToolFilter{All: true}, nil
	}
	var o struct {
		Always json.RawMessage `json:"always"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return agent.ToolFilter{}, wire.Invalid(at, "%s must be always, never, or an object with tools for either", at)
	}
	if !wire.IsSet(o.Always) {
		return agent.ToolFilter{}, nil
	}
	return readFilter(o.Always, at+".always")
}

// readChoice reads tool_choice: a word, a tool, or a list of allowed tools.
func (s *Surface) readChoice(b *toolbox, raw json.RawMessage) error {
	if !wire.IsSet(raw) {
		return nil
	}
	if raw[0] == '"' {
		var word string
		if err := wire.Decode(raw, &word, "tool_choice"); err != nil {
			return err
		}
		return b.choose(word, "tool_choice")
	}
	var o struct {
		choice
		Mode  string   `json:"mode"`
		Tools []choice `json:"tools"`
	}
	if err := wire.Decode(raw, &o, "tool_choice"); err != nil {
		return err
	}
	switch o.Type {
	case "function":
		if o.Name == "" {
			return wire.Invalid("tool_choice.name", "a tool_choice of type function needs the name of the function")
		}
		b.must, b.name = true, joinName(o.Namespace, o.Name)
		return nil
	case "mcp":
		return s.chooseServer(b, o.choice)
	case "allowed_tools":
		if err := b.allow(o.Tools, o.Mode == "required"); err != nil {
			return err
		}
		if len(b.allowed) == 0 {
			b.none, b.choice = true, json.RawMessage(`"none"`)
			return nil
		}
		o.Mode = cmp.Or(o.Mode, "auto")
		b.choice, _ = json.Marshal(map[string]any{"type": o.Type, "mode": o.Mode, "tools": b.allowed}) // strings
		return b.choose(o.Mode, "tool_choice.mode")
	}
	if hostedKind(o.Type) != "" {
		return b.chooseHosted(o.choice)
	}
	return wire.Unsupported("tool_choice.type", fmt.Sprintf("tool_choice of type %q is not known; use function, mcp or allowed_tools", wire.Clip(o.Type, 40)))
}

// allow limits the calls to these tools. Those that this host does not have are left out; with
// must, at least one has to remain.
func (b *toolbox) allow(tools []choice, must bool) error {
	if len(tools) == 0 {
		return wire.Invalid("tool_choice.tools", "tool_choice.tools must name at least one tool")
	}
	b.allowed = []choice{}
	for i, c := range tools {
		at, kind := fmt.Sprintf("tool_choice.tools[%d]", i), hostedKind(c.Type)
		choices, known := b.searchChoices(kind)
		switch {
		case c.Type == "function" || c.Type == "mcp":
			b.allowed = append(b.allowed, c)
		case kind == "":
			return wire.Unsupported(at+".type", fmt.Sprintf("a tool of type %q is not known; use function or mcp", wire.Clip(c.Type, 40)))
		case must && len(tools) == 1 && !known:
			return absence{kind: c.Type, at: at}.refusal()
		}
		b.allowed = append(b.allowed, choices...)
	}
	return nil
}

func (b *toolbox) choose(word, at string) error {
	switch word {
	case "none":
		b.none = true
	case "auto":
	case "required":
		b.must = true
	default:
		return wire.Invalid(at, "%s %q is not known; use none, auto or required", at, wire.Clip(word, 40))
	}
	return nil
}

// chooseServer makes the model call a tool of a server: the named one, or any.
func (s *Surface) chooseServer(b *toolbox, c choice) error {
	b.must = true
	if c.Name == "" {
		b.allowed = []choice{c}
		return nil
	}
	tools := s.Tools()
	i := slices.IndexFunc(tools, c.toolName().Names)
	if i < 0 {
		return wire.Invalid("tool_choice", "the server %q has no tool %q", wire.Clip(c.ServerLabel, 100), wire.Clip(c.Name, 100))
	}
	b.name = tools[i].Name
	return nil
}

// narrowing returns how the request restricts servers' tools; nil if it does not.
func (b *toolbox) narrowing() *agent.Narrowing {
	if len(b.servers) == 0 && b.allowed == nil && len(b.without) == 0 {
		return nil
	}
	n := &agent.Narrowing{Servers: b.servers}
	for _, t := range b.without {
		n.Without = append(n.Without, t.Name)
	}
	for name, kind := range b.searches {
		if kind != "" {
			n.Asked = append(n.Asked, name)
		}
	}
	slices.Sort(n.Asked)
	if b.allowed != nil {
		n.Only = []agent.ToolName{}
		for _, c := range b.allowed {
			n.Only = append(n.Only, c.toolName())
		}
	}
	return n
}

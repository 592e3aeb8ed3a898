package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"molar/schemas"
	"molar/web/wire"
)

// The types of the tools that OpenAI hosts and this host has: a search of the web, and of the
// operator's own texts.
const (
	webSearch  = "web_search"
	fileSearch = "file_search"
)

// A hostedTool is a tool that OpenAI hosts: under its usual name this host has its own, or none.
type hostedTool struct {
	// as is the type of the tool here; empty if this host has none.
	as string
}

// hostedTools are the tools that OpenAI hosts, and those that its clients run by a grammar of
// their own, by the type under which a request declares them.
func hostedTools() map[string]hostedTool {
	return map[string]hostedTool{
		webSearch: {webSearch}, "web_search_2025_08_26": {webSearch},
		"web_search_preview": {webSearch}, "web_search_preview_2025_03_11": {webSearch},
		fileSearch:         {fileSearch},
		"code_interpreter": {}, "image_generation": {}, "computer": {}, "computer_use_preview": {}, "local_shell": {}, "shell": {},
		"apply_patch": {}, "tool_search": {}, "custom": {}, "programmatic_tool_calling": {},
	}
}

// addHosted adds a hosted tool, if this host has it. It returns whether the type is one.
func (s *Surface) addHosted(b *toolbox, t wireTool) bool {
	hosted, known := hostedTools()[t.Type]
	if !known {
		return false
	}
	for _, tool := range s.Tools() {
		if hosted.as != "" && kindOf(tool) == hosted.as && !slices.Contains(b.also, tool.Name) {
			b.also = append(b.also, tool.Name)
			b.hosted[tool.Name] = hosted.as
		}
	}
	if hosted.as == "" || !slices.ContainsFunc(b.also, func(name string) bool { return b.hosted[name] == hosted.as }) {
		what := t.Type
		if t.Name != "" {
			what += " " + wire.Clip(t.Name, 60)
		}
		b.warnings = append(b.warnings, fmt.Sprintf("the tool %s is left out: this host has none", what))
	}
	return true
}

// kindOf returns the type under which OpenAI hosts such a tool: the bundled searches of the web and
// of the operator's texts.
func kindOf(t schemas.Tool) string {
	open := t.Annotations.OpenWorldHint
	switch {
	case t.Server != schemas.ToolServer || open == nil || t.Withheld != "":
		return ""
	case *open:
		return webSearch
	}
	return fileSearch
}

// kind returns the type of the hosted tool that a bundled tool stands for.
func (s *Surface) kind(tool string) string {
	for _, t := range s.Tools() {
		if t.Server == schemas.ToolServer && t.ToolName == tool {
			return kindOf(t)
		}
	}
	return ""
}

// chooseHosted makes the model call a hosted tool.
func (b *toolbox) chooseHosted(kind string) error {
	hosted := hostedTools()[kind]
	for _, name := range b.also {
		if hosted.as != "" && b.hosted[name] == hosted.as {
			b.must, b.name = true, name
			return nil
		}
	}
	return wire.Unsupported("tool_choice.type", fmt.Sprintf("this host has no tool of type %q, so a call of it cannot be forced", wire.Clip(kind, 40)))
}

// A functionName is the name of a function in a namespace.
type functionName struct{ Namespace, Name string }

// flat returns the name under which a model is offered a function of a namespace.
func (f functionName) flat() string {
	if f.Namespace == "" {
		return f.Name
	}
	name := f.Namespace + "__" + f.Name
	return name[:min(len(name), wire.MaxToolName)]
}

// addNamespace adds the functions of a namespace.
func (b *toolbox) addNamespace(t wireTool, raw json.RawMessage, at string) error {
	if !wire.IsToolName(t.Name) {
		return wire.Invalid(at+".name", "a namespace's name is 1 to %d characters of A-Z a-z 0-9 _ -", wire.MaxToolName)
	}
	if len(t.Tools) == 0 {
		return wire.Invalid(at+".tools", "a namespace holds at least one function")
	}
	echo := slices.Clip(b.echo)
	for i, inner := range t.Tools {
		here := fmt.Sprintf("%s.tools[%d]", at, i)
		var f wireTool
		if err := wire.Decode(inner, &f, here); err != nil {
			return err
		}
		if f.Type != "function" {
			b.warnings = append(b.warnings, fmt.Sprintf("the tool %s of the namespace %s is left out: only functions can be called here", wire.Clip(f.Name, 60), t.Name))
			continue
		}
		name := functionName{t.Name, f.Name}
		if f.Name = name.flat(); f.Description == "" {
			f.Description = t.Description
		}
		if err := b.addFunction(f, here); err != nil {
			return err
		}
	}
	b.echo = slices.Concat(echo, []any{raw}) // as the client declared it
	return nil
}

// namesIn returns the functions in the namespaces among a response's tools, by the names under which
// a model is offered them.
func namesIn(tools []any) map[string]functionName {
	names := map[string]functionName{}
	for _, tool := range tools {
		raw, err := json.Marshal(tool)
		var t struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
		if err != nil || json.Unmarshal(raw, &t) != nil || t.Type != "namespace" {
			continue
		}
		for _, f := range t.Tools {
			name := functionName{t.Name, f.Name}
			names[name.flat()] = name
		}
	}
	return names
}

// hostedIn returns the types of the hosted tools among a response's tools.
func hostedIn(tools []any) map[string]bool {
	kinds := map[string]bool{}
	for _, tool := range tools {
		raw, err := json.Marshal(tool)
		var t struct{ Type string }
		if err == nil && json.Unmarshal(raw, &t) == nil {
			if hosted := hostedTools()[t.Type]; hosted.as != "" {
				kinds[hosted.as] = true
			}
		}
	}
	return kinds
}

// A searchCall is the item of a hosted search: of type web_search_call or file_search_call.
type searchCall struct {
	Type   string        `json:"type"`
	ID     string        `json:"id"`
	Status string        `json:"status"`
	Action *searchAction `json:"action,omitempty"`
	// Queries are those of a search of files.
	Queries []string `json:"queries,omitempty"`
	Results *[]any   `json:"results,omitempty"`
}

// A searchAction is what a search of the web did.
type searchAction struct {
	Type  string `json:"type"`
	Query string `json:"query"`
}

// newSearch returns the item of a search in progress; its status is the third part of its events' names.
func newSearch(kind, id, arguments string) *searchCall {
	var args struct{ Query string }
	_ = json.Unmarshal([]byte(arguments), &args) // a model may have written anything
	it := &searchCall{Type: kind + "_call", ID: id, Status: statusInProgress}
	if kind == webSearch {
		it.Action = &searchAction{"search", args.Query}
	} else {
		it.Queries, it.Results = []string{args.Query}, nil
	}
	return it
}

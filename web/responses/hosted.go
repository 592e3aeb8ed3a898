package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"molar/schemas"
	"molar/web/wire"
)

// The types of OpenAI's tools for which this host has some of its own.
const (
	webSearch  = "web_search"
	fileSearch = "file_search"
)

// hostedKind returns a type of the tools that OpenAI runs itself, or that its models were trained
// on, without the end that names a version; empty for any other type.
func hostedKind(kind string) string {
	kind = regexp.MustCompile(`(_preview)?(_\d{4}_\d{2}_\d{2})?$`).ReplaceAllString(kind, "")
	if slices.Contains([]string{
		webSearch, fileSearch, "code_interpreter", "image_generation", "computer", "computer_use", "shell", "local_shell",
		"apply_patch", "custom", "tool_search", "programmatic_tool_calling",
	}, kind) {
		return kind
	}
	return ""
}

// An absence is a tool of a request that this host does not have.
type absence struct {
	// kind is its type, name its name if it has one, and at its path in the request.
	kind, name, at string
	// why is the reason; empty for a type that no host has.
	why string
}

// warning tells the client that the tool is left out.
func (a absence) warning() string {
	what := a.kind
	if a.name != "" {
		what += " " + a.name
	}
	return fmt.Sprintf("%s: the tool %s is left out, as %s", a.at, wire.Clip(what, 100), cmp.Or(a.why, "this host does not have it"))
}

// refusal is the error for a request that cannot do without the tool.
func (a absence) refusal() *wire.Error {
	return wire.Unsupported(a.at+".type", fmt.Sprintf("no call of a tool of type %q can be forced, as %s", a.kind, cmp.Or(a.why, "this host has none")))
}

// addHosted adds a tool that OpenAI hosts: a search, if the assistant has one of that kind. Any
// other is left out.
func (s *Surface) addHosted(b *toolbox, kind string, t wireTool, raw json.RawMessage, at string) error {
	gone := absence{kind: t.Type, at: at}
	switch {
	case wire.IsSet(t.Filters):
		return wire.Unsupported(at+".filters", "searches cannot be filtered here; leave filters out")
	case kind == webSearch && t.ExternalWebAccess != nil && !*t.ExternalWebAccess:
		gone.why = "it is to search without access to the web, of which this host has no copy"
	case kind == webSearch || kind == fileSearch:
		if b.addSearch(kind, t.VectorStoreIDs) {
			b.echo = append(b.echo, raw)
			return nil
		}
		gone.why = lack(kind)
	}
	b.leftOut = append(b.leftOut, gone)
	return nil
}

// lack is why an assistant has no search of a kind.
func lack(kind string) string {
	if kind == webSearch {
		return "the assistant does not search the web: its search or tools would have to name duckduckgo_search or google_search"
	}
	return "the assistant searches no folder of knowledge: its search or tools would have to name one"
}

// searchKind returns the type under which OpenAI's clients know a search tool of this host.
func searchKind(t schemas.Tool) string {
	if open := t.Annotations.OpenWorldHint; open != nil && !*open {
		return fileSearch
	}
	return webSearch
}

// addSearch adds the assistant's searches of a kind, and reports whether there are any. stores that
// are names of folders choose among these.
func (b *toolbox) addSearch(kind string, stores []string) bool {
	chosen := func(t schemas.Tool) bool { return searchKind(t) == kind }
	named := func(t schemas.Tool) bool { return slices.Contains(stores, t.ToolName) }
	if all := slices.Concat(b.byModel, b.byCode); slices.ContainsFunc(all, named) {
		chosen = func(t schemas.Tool) bool { return searchKind(t) == kind && named(t) }
		b.without = slices.DeleteFunc(slices.Clone(all), func(t schemas.Tool) bool { return searchKind(t) != kind || named(t) })
	}
	found := false
	for _, t := range slices.Concat(b.byModel, b.byCode) {
		if chosen(t) {
			b.searches[t.ToolName], found = kind, true
		}
	}
	return found
}

// searchChoices returns the searches of a kind that the model may call, and whether the request has
// any of that kind: code runs those that the model may not call. An empty kind has none.
func (b *toolbox) searchChoices(kind string) (choices []choice, known bool) {
	if kind == "" {
		return nil, false
	}
	for _, t := range b.byModel {
		if b.searches[t.ToolName] == kind {
			choices = append(choices, choice{Type: "function", Name: t.Name})
		}
	}
	return choices, len(choices) > 0 || slices.ContainsFunc(b.byCode, func(t schemas.Tool) bool { return b.searches[t.ToolName] == kind })
}

// chooseHosted makes the model search. A search that code runs before each answer need not be
// forced.
func (b *toolbox) chooseHosted(c choice) error {
	choices, known := b.searchChoices(hostedKind(c.Type))
	switch {
	case !known:
		return absence{kind: c.Type, at: "tool_choice"}.refusal()
	case len(choices) == 1:
		b.must, b.name = true, choices[0].Name
	case len(choices) > 1:
		b.must, b.allowed = true, choices
	}
	return nil
}

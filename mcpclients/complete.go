package mcpclients

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"molar/internal/text"
	"molar/schemas"
)

const (
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodComplete      = "completion/complete"
	// maxListed bounds a server's proposals, listWait the time to fetch them.
	maxListed = 500
	listWait  = 2 * time.Second
)

// An Address is a URI of a resource, or a URI template, with the server's name for it.
type Address struct{ URI, Name string }

// Resources lists a server's resources for completion by who asks; nil if it has none or is slow.
func (m *Manager) Resources(ctx context.Context, who schemas.Caller, server string) []Address {
	return m.addresses(ctx, who, server, methodListResources)
}

// Templates lists the URI templates of a server's resources, like Resources.
func (m *Manager) Templates(ctx context.Context, who schemas.Caller, server string) []Address {
	return m.addresses(ctx, who, server, methodListTemplates)
}

func (m *Manager) addresses(ctx context.Context, who schemas.Caller, server, method string) []Address {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	type entry struct {
		URI      string `json:"uri"`
		Template string `json:"uriTemplate"`
		Name     string `json:"name"`
		Title    string `json:"title"`
	}
	var all []Address
	for cursor := ""; len(all) < maxListed; {
		params := struct {
			Cursor string `json:"cursor,omitempty"`
		}{cursor}
		var page struct {
			Resources  []entry `json:"resources"`
			Templates  []entry `json:"resourceTemplates"`
			NextCursor string  `json:"nextCursor"`
		}
		var raw json.RawMessage
		if m.requestFor(ctx, who, server, method, params, &raw) != nil || json.Unmarshal(raw, &page) != nil {
			break
		}
		for _, e := range append(page.Resources, page.Templates...) {
			address := e.URI + e.Template
			if isWord(address) && !strings.ContainsAny(address, " \t\n") {
				all = append(all, Address{address, cmp.Or(e.Title, e.Name)})
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			break
		}
		cursor = page.NextCursor
	}
	slices.SortFunc(all, func(a, b Address) int { return cmp.Compare(a.URI, b.URI) })
	same := func(a, b Address) bool { return a.URI == b.URI }
	return slices.CompactFunc(all[:min(len(all), maxListed)], same)
}

// A Typed holds an argument as a person is typing it.
type Typed struct {
	// Prompt names the prompt that has the argument; if it is empty, Template is the URI
	// template.
	Prompt, Template string
	// Argument is its name, Value its text so far.
	Argument, Value string
	// Others are the complete arguments.
	Others map[string]string
}

// Complete asks a server for completions of an argument; nil on an error or after 2 s.
func (m *Manager) Complete(ctx context.Context, who schemas.Caller, server string, typed Typed) []string {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	ref := map[string]string{"type": "ref/resource", "uri": typed.Template}
	if typed.Prompt != "" {
		ref = map[string]string{"type": "ref/prompt", "name": typed.Prompt}
	}
	params := map[string]any{"ref": ref, "argument": map[string]string{"name": typed.Argument, "value": typed.Value}}
	if len(typed.Others) > 0 {
		params["context"] = map[string]any{"arguments": typed.Others}
	}
	var answer struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	if m.requestFor(ctx, who, server, methodComplete, params, &answer) != nil {
		return nil
	}
	values := slices.DeleteFunc(answer.Completion.Values, func(v string) bool { return !isWord(v) })
	return values[:min(len(values), maxListed)]
}

// isWord reports whether a server's text is safe to show on one line.
func isWord(content string) bool { return content != "" && content == text.Visible(content) }

package mcpclients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"molar/schemas"
	"molar/schemas/lower"
)

// A definition is a tool as its server lists it, with what is found in it, which need be looked for
// only once.
type definition struct {
	schemas.ToolInfo
	// sum identifies it.
	sum string
	// trimmed is the input schema as it is offered.
	trimmed json.RawMessage
	label   *label
}

func newDefinition(info schemas.ToolInfo) definition {
	l := newLabel(info.Server, info.ToolName)
	return definition{ToolInfo: info, sum: digest(info), trimmed: lower.Trim(info.InputSchema), label: &l}
}

// define returns the definitions of a list, sorted by name, and whether they are those of before. What
// is known of one that stayed the same is kept.
func define(infos []schemas.ToolInfo, before []definition) (now []definition, same bool) {
	known := make(map[string]definition, len(before))
	for _, d := range before {
		known[d.ToolName] = d
	}
	same = len(infos) == len(before)
	now = make([]definition, len(infos))
	for i, info := range infos {
		d, seen := known[info.ToolName]
		if !seen || !reflect.DeepEqual(d.ToolInfo, info) {
			d, same = newDefinition(info), false
		}
		now[i] = d
	}
	slices.SortFunc(now, func(a, b definition) int { return cmp.Compare(a.ToolName, b.ToolName) })
	return now, same
}

// listed returns the definitions as they were listed.
func listed(definitions []definition) []schemas.ToolInfo {
	infos := make([]schemas.ToolInfo, len(definitions))
	for i, d := range definitions {
		infos[i] = d.ToolInfo
	}
	return infos
}

// maxChanged bounds the notes on changed definitions of one server.
const maxChanged = 20

// definitions remembers a server's tool definitions across restarts, so that a tool that changes
// under the same name is noticed.
type definitions struct {
	mu    sync.Mutex
	known map[string]string
	notes []string
}

// compare records the tools that a server lists now and returns the names of those whose
// definition changed.
func (d *definitions) compare(tools []definition) (changed []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]string{}
	}
	for _, t := range tools {
		before, seen := d.known[t.ToolName]
		if seen && before != t.sum {
			changed = append(changed, t.ToolName)
		}
		if seen || len(d.known) < 2*MaxTools {
			d.known[t.ToolName] = t.sum
		}
	}
	for _, name := range changed {
		d.notes = append(d.notes, fmt.Sprintf("%s: its definition changed at %s and the new one is in use: read it before you trust it",
			name, time.Now().UTC().Format(time.RFC3339)))
	}
	d.notes = d.notes[max(0, len(d.notes)-maxChanged):]
	return changed
}

// list returns what changed, oldest first.
func (d *definitions) list(pinned bool) []string {
	if pinned {
		return nil // changed tools await approval
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notes)
}

package mcpclients

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"molar/schemas"
)

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
func (d *definitions) compare(tools []schemas.ToolInfo) (changed []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]string{}
	}
	for _, t := range tools {
		sum := digest(t)
		before, seen := d.known[t.ToolName]
		if seen && before != sum {
			changed = append(changed, t.ToolName)
		}
		if seen || len(d.known) < 2*MaxTools {
			d.known[t.ToolName] = sum
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

package mcpclients

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"molar/schemas"
)

// maxChanged is how many changed definitions of one server are remembered.
const maxChanged = 20

// definitions remembers what the tools of a server looked like, across restarts, so
// that a tool that turns into another one under the same name does not go unseen.
type definitions struct {
	mu    sync.Mutex
	known map[string]string
	notes []string
}

// compare takes the tools that a server lists now and returns the names of those
// whose definition is not the one that was seen before.
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
		return nil // none of them is in use
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notes)
}

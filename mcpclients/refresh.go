package mcpclients

import (
	"context"
	"fmt"
	"maps"
)

// Refresh takes over what other processes with the same Keeper decided meanwhile, which
// read tells. What is decided here while read runs is newer and stands; it reaches the
// next Refresh by way of the Keeper. Pins that were never kept stay.
func (m *Manager) Refresh(ctx context.Context, read func(context.Context) (Decisions, error)) error {
	d := m.decisions
	d.mu.Lock()
	before := d.made
	d.mu.Unlock()
	kept, err := read(ctx)
	if err != nil {
		return fmt.Errorf("read what was decided about tools: %w", err)
	}
	if !d.adopt(kept, before) {
		return nil
	}
	for _, s := range m.servers.Load().list {
		s.filterTools()
	}
	m.log.Info("tools were switched or approved by another process")
	return nil
}

// adopt reports whether the decisions kept change those in force. It does nothing when
// one was made since before.
func (d *decisions) adopt(kept Decisions, before int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made != before {
		return false
	}
	changed := !maps.Equal(d.off, kept.Off)
	if changed {
		d.off = map[ToolRef]bool{}
		maps.Copy(d.off, kept.Off)
	}
	for server, pins := range kept.Pins {
		if !maps.Equal(d.pins[server], pins) {
			d.pins[server] = maps.Clone(pins)
			changed = true
		}
	}
	return changed
}

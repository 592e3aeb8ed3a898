package offer

import (
	"slices"
	"sync"

	"molar/schemas"
)

// maxCached bounds how many lists of tools a cache holds: assistants, windows and clients have lists of
// their own.
const maxCached = 8

// A cache holds what was computed of the lists of tools that turns asked for last.
type cache[V any] struct {
	mu   sync.Mutex
	held []computed[V] // the last one first
}

// A computed is what is computed of a list of tools for some room, once.
type computed[V any] struct {
	tools      []schemas.Tool
	room, most int
	value      func() V
}

// of returns what is computed of the tools. A turn waits only for the computation that it needs.
func (c *cache[V]) of(tools []schemas.Tool, room, most int, compute func() V) V {
	return c.find(tools, room, most, compute)()
}

func (c *cache[V]) find(tools []schemas.Tool, room, most int, compute func() V) func() V {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.held, func(one computed[V]) bool {
		return one.room == room && one.most == most && slices.EqualFunc(one.tools, tools, sameText)
	})
	found := computed[V]{tools, room, most, nil}
	if at >= 0 {
		found = c.held[at]
		c.held = slices.Delete(c.held, at, at+1)
	} else {
		found.value = sync.OnceValue(compute)
	}
	c.held = slices.Insert(c.held, 0, found)
	if len(c.held) > maxCached {
		c.held = slices.Delete(c.held, maxCached, len(c.held))
	}
	return found.value
}

// sameText reports whether two tools are the same to a ranker.
func sameText(a, b schemas.Tool) bool {
	return sameWords(a.ToolInfo, b.ToolInfo)
}

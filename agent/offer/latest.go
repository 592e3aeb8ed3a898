package offer

import (
	"slices"
	"sync"

	"molar/schemas"
)

// maxLatest bounds how many lists of tools the latest computations are kept for: assistants, windows and
// clients have lists of their own.
const maxLatest = 8

// A latest keeps what was computed of the lists of tools that turns asked for last.
type latest[V any] struct {
	mu     sync.Mutex
	latest []computed[V] // the newest first
}

// A computed is what is computed of a list of tools for some room, once.
type computed[V any] struct {
	tools      []schemas.Tool
	room, most int
	value      func() V
}

// of returns what is computed of the tools. A turn waits only for the computation that it needs.
func (l *latest[V]) of(tools []schemas.Tool, room, most int, compute func() V) V {
	return l.find(tools, room, most, compute)()
}

func (l *latest[V]) find(tools []schemas.Tool, room, most int, compute func() V) func() V {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.latest, func(c computed[V]) bool {
		return c.room == room && c.most == most && slices.EqualFunc(c.tools, tools, sameText)
	})
	found := computed[V]{tools, room, most, nil}
	if at >= 0 {
		found = l.latest[at]
		l.latest = slices.Delete(l.latest, at, at+1)
	} else {
		found.value = sync.OnceValue(compute)
	}
	l.latest = slices.Insert(l.latest, 0, found)
	if len(l.latest) > maxLatest {
		l.latest = slices.Delete(l.latest, maxLatest, len(l.latest))
	}
	return found.value
}

// sameText reports whether two tools are the same to a ranker.
func sameText(a, b schemas.Tool) bool {
	return sameWords(a.ToolInfo, b.ToolInfo)
}

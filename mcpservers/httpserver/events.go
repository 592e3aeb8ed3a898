package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// keptEvents is how many of a session's newest events can be replayed.
const keptEvents = 256

// events stores what was sent on the streams of each session, so that a client whose stream broke
// off gets what it missed. It implements server.EventStore with a bound, which mcp-go's own store
// lacks.
type events struct {
	mu       sync.Mutex
	last     int64
	sessions map[string][]event
}

type event struct {
	id, stream string
	message    json.RawMessage
}

func newEvents() *events { return &events{sessions: map[string][]event{}} }

// StoreEvent implements server.EventStore.
func (e *events) StoreEvent(_ context.Context, session, stream string, message json.RawMessage) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	id := strconv.FormatInt(e.last, 10)
	kept := e.sessions[session]
	if len(kept) >= keptEvents {
		kept = slices.Delete(kept, 0, 1)
	}
	e.sessions[session] = append(kept, event{id, stream, slices.Clone(message)})
	return id, nil
}

// ReplayEventsAfter implements server.EventStore.
func (e *events) ReplayEventsAfter(_ context.Context, session, last string, send func(string, json.RawMessage) error) (string, error) {
	e.mu.Lock()
	kept := slices.Clone(e.sessions[session])
	e.mu.Unlock()
	i := slices.IndexFunc(kept, func(ev event) bool { return ev.id == last })
	if i < 0 {
		return "", fmt.Errorf("%w: %s", server.ErrUnknownEventID, last)
	}
	stream := kept[i].stream
	for _, ev := range kept[i+1:] {
		if ev.stream != stream {
			continue
		}
		if err := send(ev.id, ev.message); err != nil {
			return "", err
		}
	}
	return stream, nil
}

// PurgeSession implements server.EventStore.
func (e *events) PurgeSession(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, session)
	return nil
}

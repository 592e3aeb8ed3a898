package responses

import (
	"context"
	"encoding/json"
	"sync"

	"molar/schemas"
)

// A Store stores responses until they or their conversations are deleted.
type Store interface {
	PutResponse(ctx context.Context, r schemas.KeptResponse) error
	// GetResponse returns an owner's response, and whether there is one.
	GetResponse(ctx context.Context, owner, id string) (schemas.KeptResponse, bool, error)
	// DeleteResponse reports whether there was one.
	DeleteResponse(ctx context.Context, owner, id string) (bool, error)
}

// A record is a response with what is needed to read it again and to continue it.
type record struct {
	Response json.RawMessage `json:"response"`
	// Input are the items of its request, each with an id.
	Input []json.RawMessage `json:"input"`
	// Turn is the agent's turn, Conversation where it is stored, and Parent the turn before it
	// there.
	Turn         string  `json:"turn"`
	Conversation string  `json:"conversation"`
	Parent       *string `json:"parent,omitempty"`
	Previous     string  `json:"previous,omitempty"`
	// From is the number of the turn's last item before the response, and Notes means that its
	// client asked for events: both let another replica render it.
	From  int  `json:"from,omitempty"`
	Notes bool `json:"notes,omitempty"`
	// Loose is set if no conversation holds the turn: its history is the chain of records.
	Loose bool `json:"loose,omitempty"`
	// Reads is the conversation that precedes a loose one without an earlier response.
	Reads string `json:"reads,omitempty"`
	// System is the system text of all inputs so far, without instructions.
	System []string `json:"system,omitempty"`
	// Listed are the servers whose tools were listed so far.
	Listed []string `json:"listed,omitempty"`
	Status string   `json:"status"`
	// Waits is set if it ended in a pending call.
	Waits bool `json:"waits,omitempty"`
	// Calls are the calls left to the client, by call id.
	Calls []string `json:"calls,omitempty"`
}

// output returns the items of the response.
func (r *record) output() ([]Item, error) {
	var o struct {
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(r.Response, &o); err != nil {
		return nil, err
	}
	return read(o.Output)
}

// input returns the items of its request.
func (r *record) input() ([]Item, error) {
	list, err := json.Marshal(r.Input)
	if err != nil {
		return nil, err
	}
	return read(list)
}

// maxMemory is how many responses are kept without a store.
const maxMemory = 256

// A memory keeps the newest responses of a host without a store.
type memory struct {
	mu    sync.Mutex
	all   map[[2]string]schemas.KeptResponse
	order [][2]string
}

func newMemory() *memory { return &memory{all: make(map[[2]string]schemas.KeptResponse)} }

// PutResponse implements [Store].
func (m *memory) PutResponse(_ context.Context, r schemas.KeptResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{r.Owner, r.ID}
	if _, known := m.all[key]; !known {
		m.order = append(m.order, key)
	}
	m.all[key] = r
	for len(m.order) > maxMemory {
		delete(m.all, m.order[0])
		m.order = m.order[1:]
	}
	return nil
}

// GetResponse implements [Store].
func (m *memory) GetResponse(_ context.Context, owner, id string) (schemas.KeptResponse, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.all[[2]string{owner, id}]
	return r, ok, nil
}

// DeleteResponse implements [Store]. A deleted conversation takes its responses along.
func (m *memory) DeleteResponse(_ context.Context, owner, id string) (known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.all {
		if r.Owner == owner && (r.ID == id || r.ConversationID == id) {
			delete(m.all, key)
			known = true
		}
	}
	return known, nil
}

package responses

import (
	"context"
	"encoding/json"
	"sync"

	"molar/schemas"
)

// A Store keeps responses until they are deleted, or their conversation is.
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
	// Turn is that of the agent, Conversation where it is saved, and Parent the turn that it
	// follows there.
	Turn         string  `json:"turn"`
	Conversation string  `json:"conversation"`
	Parent       *string `json:"parent,omitempty"`
	Previous     string  `json:"previous,omitempty"`
	// From is the number of the turn's last item before the response, and Notes says that
	// its client asked for events: both are for a replica that tells it too.
	From  int  `json:"from,omitempty"`
	Notes bool `json:"notes,omitempty"`
	// Loose is set where no conversation holds the turn: what came before stands in the
	// chain of records.
	Loose bool `json:"loose,omitempty"`
	// Reads is the conversation that a loose one has before it, where no other response is.
	Reads string `json:"reads,omitempty"`
	// System is the system text of all inputs so far, without instructions.
	System []string `json:"system,omitempty"`
	// Listed are the servers whose tools were listed so far.
	Listed []string `json:"listed,omitempty"`
	Status string   `json:"status"`
	// Waits is set where it ended in a call that waits for a person.
	Waits bool `json:"waits,omitempty"`
	// Calls are those that it left to the client, by call id.
	Calls []string `json:"calls,omitempty"`
}

// output are the items of the response.
func (r *record) output() ([]Item, error) {
	var o struct {
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(r.Response, &o); err != nil {
		return nil, err
	}
	return Read(o.Output)
}

// input are the items of its request.
func (r *record) input() ([]Item, error) {
	list, err := json.Marshal(r.Input)
	if err != nil {
		return nil, err
	}
	return Read(list)
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

// DeleteResponse implements [Store]. With a conversation go its responses.
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

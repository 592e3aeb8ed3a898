package responses

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"molar/schemas"
	"molar/schemas/responses"
)

// A Store stores responses until they or their conversations are deleted.
type Store interface {
	PutResponse(ctx context.Context, r schemas.StoredResponse) error
	// GetResponse returns an owner's response, and whether there is one.
	GetResponse(ctx context.Context, owner, id string) (schemas.StoredResponse, bool, error)
	// DeleteResponse reports whether there was one.
	DeleteResponse(ctx context.Context, owner, id string) (bool, error)
}

// A record is a response as it is stored, with everything that reading and continuing it needs.
type record struct {
	Response json.RawMessage `json:"response"`
	// Input are the items of its request, each with an id.
	Input []json.RawMessage `json:"input"`
	// Turn is the id of the agent's turn, Conversation that of the conversation in which it is
	// stored, and Parent that of the turn before it there.
	Turn         string  `json:"turn"`
	Conversation string  `json:"conversation"`
	Parent       *string `json:"parent,omitempty"`
	Previous     string  `json:"previous,omitempty"`
	// From is the number of the turn's last item before the response: another replica needs it to
	// render the response.
	From int `json:"from,omitempty"`
	rendering
	// Loose is set if the turn is not stored in a conversation: its history is the chain of
	// records.
	Loose bool `json:"loose,omitempty"`
	// Reads is the conversation that a loose turn without an earlier response reads as its history.
	Reads string `json:"reads,omitempty"`
	// System is the system text of all inputs so far, without instructions.
	System []string `json:"system,omitempty"`
	// Listed are the servers whose tools were listed so far.
	Listed []string `json:"listed,omitempty"`
	Status string   `json:"status"`
	// Waits is set if the response ended with a pending approval or question.
	Waits bool `json:"waits,omitempty"`
	// Calls are the ids of the calls that the client runs.
	Calls []string `json:"calls,omitempty"`
}

// A rendering is what a request determines about how its response is rendered.
type rendering struct {
	// Notes adds our own events.
	Notes bool `json:"notes,omitempty"`
	// Functions are the client's functions in namespaces, by the name that the model knows.
	Functions map[string]function `json:"functions,omitempty"`
	// Searches are the host's searches that the request names by OpenAI's types, by their names.
	Searches map[string]string `json:"searches,omitempty"`
	// Include is what items contain beyond the usual.
	Include []string `json:"include,omitempty"`
	// Warnings name the tools that were left out.
	Warnings []string `json:"left_out,omitempty"`
}

// includes reports whether items contain something beyond the usual.
func (r rendering) includes(what string) bool { return slices.Contains(r.Include, what) }

// output returns the items of the response.
func (r *record) output() ([]responses.Item, error) {
	var o struct {
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(r.Response, &o); err != nil {
		return nil, err
	}
	return read(o.Output)
}

// input returns the items of its request.
func (r *record) input() ([]responses.Item, error) {
	list, err := json.Marshal(r.Input)
	if err != nil {
		return nil, err
	}
	return read(list)
}

// maxMemory is the number of responses that a memory keeps.
const maxMemory = 256

// A memory is a Store that keeps the newest responses in memory, for a host without a store.
type memory struct {
	mu    sync.Mutex
	all   map[[2]string]schemas.StoredResponse
	order [][2]string
}

func newMemory() *memory { return &memory{all: make(map[[2]string]schemas.StoredResponse)} }

// PutResponse implements [Store].
func (m *memory) PutResponse(_ context.Context, r schemas.StoredResponse) error {
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
func (m *memory) GetResponse(_ context.Context, owner, id string) (schemas.StoredResponse, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.all[[2]string{owner, id}]
	return r, ok, nil
}

// DeleteResponse implements [Store]. With the id of a conversation it deletes all its responses.
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

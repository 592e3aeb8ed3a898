package schemas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A PersonRecord is one thing of a person: a conversation with its messages and files, or a row of
// another table.
type PersonRecord struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// Erased says how many things of each kind an erasure deleted.
type Erased map[string]int64

// Add adds the counts of another part of the same erasure.
func (e Erased) Add(other Erased) {
	for kind, n := range other {
		e[kind] += n
	}
}

// Total returns how many things were deleted.
func (e Erased) Total() (n int64) {
	for _, count := range e {
		n += count
	}
	return n
}

// Kinds returns the kinds of which something was deleted, by their names.
func (e Erased) Kinds() []string {
	var kinds []string
	for kind, n := range e {
		if n > 0 {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// String lists the counts, for a line of the audit.
func (e Erased) String() string {
	var parts []string
	for _, kind := range e.Kinds() {
		parts = append(parts, fmt.Sprintf("%d %s", e[kind], kind))
	}
	if len(parts) == 0 {
		return "nothing was stored"
	}
	return strings.Join(parts, ", ")
}

// An Owner has something here: a person, a key, or the command line.
type Owner struct {
	ID            string    `json:"id"`
	Name          string    `json:"name,omitempty"`
	Email         string    `json:"email,omitempty"`
	Groups        []string  `json:"groups,omitempty"`
	Conversations int64     `json:"conversations"`
	LastSeen      time.Time `json:"last_seen,omitzero"`
}

// A Session is a browser that is signed in.
type Session struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	LastUsed  time.Time `json:"last_used,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

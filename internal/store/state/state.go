// Package state keeps what the host needs besides conversations: traces of turns, API keys
// and browser sessions, answers under an Idempotency-Key, responses, turns that wait for a client's
// tools, logins at MCP servers, what people decided about tools, and keys that the host made for itself.
package state

import "molar/internal/store/database"

// A Store keeps it in a database. It is safe for concurrent use.
type Store struct{ db *database.DB }

// New returns the store of a database, which stays the caller's to close.
func New(db *database.DB) *Store { return &Store{db} }

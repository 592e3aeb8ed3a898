package store

import "molar/internal/store/database"

// A State keeps it in a database. It is safe for concurrent use.
type State struct{ db *database.DB }

// NewState returns the store of a database, which stays the caller's to close.
func NewState(db *database.DB) *State { return &State{db} }

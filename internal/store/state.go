package store

import "molar/internal/store/database"

// A State stores the state of the host in a database. It is safe for concurrent use.
type State struct{ db *database.DB }

// NewState returns the store of a database, which the caller closes.
func NewState(db *database.DB) *State { return &State{db} }

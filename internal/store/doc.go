// Package store keeps conversations, their summaries and the traces of turns, in
// one SQLite file or in a PostgreSQL database. It owns the schema and the rules
// that make a saved turn durable and single. It knows nothing of MCP or of models:
// who may see what, and how an answer looks on a wire, is decided by its callers.
//
// Both databases run the same statements; dialect.go holds what they say
// differently.
//
// Every method takes an owner. A given owner sees its own conversations only; an
// empty owner is the operator and sees all of them, and what it creates belongs
// to nobody.
package store

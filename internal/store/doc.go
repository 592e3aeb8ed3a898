// Package store keeps conversations, their summaries and the traces of turns in
// one SQLite file. It owns the file, its schema and the rules that make a saved
// turn durable and single. It knows nothing of MCP or of models: who may see
// what, and how an answer looks on a wire, is decided by its callers.
//
// Every method takes an owner. A given owner sees its own conversations only; an
// empty owner is the operator and sees all of them, and what it creates belongs
// to nobody.
package store

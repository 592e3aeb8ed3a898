// Package store keeps conversations and their summaries ([Store]), the files beside questions
// ([Files]), turns that run now, visible to every replica on one PostgreSQL ([Live]), and the
// state of the host ([State]: traces, keys, sessions, answers under an Idempotency-Key,
// responses, paused turns, logins, decisions about tools). It owns the rules that make a saved
// turn durable and single. It knows nothing of MCP or of models: who may see what, and how an
// answer looks on a wire, is decided by its callers.
//
// Below it stands [molar/internal/store/database] (SQLite and PostgreSQL, the schema).
//
// Every method takes an owner. A given owner sees its own conversations only; an
// empty owner is the operator and sees all of them, and what it creates belongs
// to nobody.
package store

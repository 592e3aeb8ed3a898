// Package store keeps conversations and their summaries ([DB]), the files of questions
// ([Files]), running turns, visible to every replica on one PostgreSQL ([Live]), and the state
// of the host ([State]: traces, keys, sessions, answers under an Idempotency-Key, responses,
// paused turns, logins, decisions about tools). It owns the rules that make a saved turn
// durable and unique. It does not know MCP or models: its callers decide access, and the wire
// form of an answer.
//
// It uses [molar/internal/store/database] (SQLite and PostgreSQL, the schema).
//
// Every method takes an owner. A given owner sees its own conversations only; an empty owner
// is the operator and sees all of them, and what it creates has no owner.
package store

// Package web is Molar's HTTP side: the router, access control, the lists of models, conversations,
// tools and servers, the operator's routes, and the probes. The surfaces that answer questions are
// its subpackages chat and responses, which use the turns of package turns.
//
// It renders the events of turns and has no rules about them: those are in package agent, and
// storage is behind [ConversationStore]. Only this folder imports gin. It must not import MCP, the
// SDK of a provider, or the store.
package web

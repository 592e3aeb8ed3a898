// Package web is Molar's HTTP side: the router, access, the lists of models, conversations,
// tools and servers, the operator's routes, and the probes. The surfaces that answer questions
// are its subpackages, over the turns of package turns.
//
// It renders what a turn yields and decides nothing about it: rules of a turn live
// in agent, storage behind [ConversationStore]. It is the only folder that knows
// gin, and it must not know MCP, a provider's SDK or the store.
package web

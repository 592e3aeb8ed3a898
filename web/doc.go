// Package web is Molar's HTTP side: the OpenAI-compatible chat endpoint, the lists
// of models, conversations, tools and servers, the probes, and the chat page.
//
// It renders what a turn yields and decides nothing about it: rules of a turn live
// in agent, storage behind [ConversationStore]. It is the only package that knows
// gin, and it must not know MCP, a provider's SDK or the store.
package web

// Package agent runs a turn: one user message and its answer.
//
// [Agent.Run] runs a [Turn] in nine steps (question and language, guardrail, memory, code-driven
// tools, tool pass, answer, sources, saving, summary) and yields typed events that the HTTP
// endpoint, the command line and the eval harness only render. The guardrail, memory, search,
// saving and summary are code, never the model's choice.
//
// run.go is the turn from top to bottom; each phase has its file: question, recall and journal (the
// turn's side of the memory), judge and gate, search and lookup (code-driven search), offer, prompt
// with fit and exchange (what a model is shown of the conversation), converse with its rounds,
// consent and yes (pending approvals), pause and paused (turns that wait for the client's tools),
// finish.
//
// Between two compactions the history only grows, so every prompt repeats the one before
// it byte for byte, as prompt caches need.
//
// The package declares the ports it needs next to their use. It imports schemas, providers,
// toolhandler and its own sub-packages, and must not know HTTP, MCP, a store or a provider's SDK.
// The sub-packages never import this one.
package agent

// Package agent runs a turn: one user message and its answer.
//
// [Agent.Run] takes a [Turn] through nine steps (question and language, guardrail,
// memory, code-driven tools, tool pass, answer, sources, saving, summary) and yields
// typed events that the HTTP endpoint, the command line and the eval harness only
// render. The guardrail, memory, search, saving and summary are code, never the
// model's choice.
//
// run.go is the turn from top to bottom; each phase has its file here, and what a phase can do
// without knowing of the turn has a sub-package. The sub-packages never import this one.
//
// The package declares the ports it needs beside their use. It imports schemas,
// providers, toolhandler and its own sub-packages, and must not know HTTP, MCP, a
// store or a provider's SDK.
package agent

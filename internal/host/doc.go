// Package host wires what a turn needs: store, servers, providers, memory, guardrails and
// agent. The commands that answer turns share it. Observers between the parts count and trace
// turns, model calls and tool calls, and print the messages between the host and its servers;
// they change nothing.
package host

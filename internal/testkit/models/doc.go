// Package models provides scripted model servers for tests and load runs. They speak the real
// wire formats over loopback and answer from a fixed script, so that a measurement or check
// concerns the host and never a model. Each wire format is implemented a second time here, from
// its description, because shared code would hide faults: the package imports no provider and no
// agent.
//
// The obedient model follows every instruction that it reads, wherever it is (system text,
// question, result, prompt of a server). It represents the worst model: an attacker can achieve
// no more than the host allows it.
package models

// Package models holds scripted model servers for tests and load runs. They speak true model
// wires over loopback and answer from a fixed script, so that what is measured or checked is
// the host and never a model. Each wire is written twice, here from its description, because
// shared code hides faults: no provider and no agent is imported.
//
// The obedient model follows every instruction that it reads, wherever it stands (system text,
// question, result, prompt of a server). What a host lets it do is what an attacker can make of
// the worst model.
package models

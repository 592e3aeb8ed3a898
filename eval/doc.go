// Package eval runs cases against the product's own code and judges the outcome: a
// case file for people, a tape for the machine, expectations, metrics and verdicts. It writes
// reports (a table, JSON, JUnit XML, one HTML file), and masks personal data in recordings that
// become tests.
//
// It opens no server and no provider: the program that embeds it hands over an
// [Opener]. Only the two edges, model transport and MCP transport, are replaced.
package eval

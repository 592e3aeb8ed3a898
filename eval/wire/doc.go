// Package wire reads and writes what crosses the wires of Gemini, Ollama and OpenAI, as
// recordings hold it: for tapes that nobody recorded, for imports, and for the scripted
// model of the suites. The providers' own code stays out of it, so that a replay of what
// is written here tests theirs.
package wire

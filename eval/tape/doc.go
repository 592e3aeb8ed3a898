// Package tape reads and writes tapes: append-only files of JSON lines with a header and
// then one record for each event of a conversation, as it crossed the two edges of the host,
// the model transport and the MCP transport.
//
// [Recorder] writes at the edges; [Player] serves a tape there instead, names each difference
// by its class, and never falls back to the network. Everything between the edges is the
// product's own code. [Read] refuses a broken tape and gives what happened, turn by turn;
// [Builder] makes tapes that nobody recorded, and [Join] makes one tape of those of several
// turns. The wires of Gemini, Ollama and OpenAI are written here a second time, without the
// providers' code, so that a replay tests theirs. The package knows no case and no expectation.
package tape

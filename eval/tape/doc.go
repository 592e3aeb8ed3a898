// Package tape reads and writes tapes: append-only files of JSON lines with a header and
// then one record for each event of a conversation, as it crossed the two edges of the host,
// the model transport and the MCP transport.
//
// [Recorder] records the edges; [Player] replaces them by a tape, classifies each difference,
// and never falls back to the network. Everything between the edges is the
// product's own code. [Read] rejects a broken tape and returns what happened in each turn;
// [Builder] writes tapes that were not recorded, and [Join] joins the tapes of several
// turns. The wires of Gemini, Ollama and OpenAI are implemented here again, without the
// providers' code, so that a replay tests the providers. The package has no notion of cases.
package tape

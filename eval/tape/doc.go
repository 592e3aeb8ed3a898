// Package tape records what crosses the two edges of the host, the model transport
// and the MCP transport, and plays it back. Everything between the edges is the
// product's own code, in recording and in replay alike.
//
// A tape is an append-only file of JSON lines: a header, then one record for each
// event. [Recorder] writes it, [Player] serves it and names what differs by class.
// The package knows no case and no expectation, starts no server and never falls
// back from the tape to the network.
package tape

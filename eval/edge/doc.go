// Package edge stands at the two edges of the host, the model transport and the MCP
// transport: [Recorder] writes what crosses them to a tape, [Player] serves a tape instead
// and names what differs by class. Everything between the edges is the product's own code, in
// recording and in replay alike. It starts no server and never falls back from the tape to
// the network.
package edge

// Command peers serves the same turn in several ways, for a comparison with Molar: by
// hand, and with libraries that people build such hosts with. A turn is one question, one
// call of a tool of an MCP server, and a streamed answer over Chat Completions.
//
// Each side does the least that its documentation shows: it reads the question, offers all
// tools of the server, executes the call that the model suggests and streams the text. None
// but Molar checks a schema, a policy or a subject, keeps a conversation or writes a trace.
//
//	peers model -listen 127.0.0.1:9001
//	peers serve -with eino -model http://127.0.0.1:9001/v1 -mcp http://127.0.0.1:9002/mcp -listen 127.0.0.1:9003
//
// The script bench/run starts all of them on loopback and prints the table.
package main

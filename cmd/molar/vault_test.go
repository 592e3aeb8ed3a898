package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// vaultToken opens the vault.
const vaultToken = "vt-4f1d0c77ab5e9d22"

// vault is an MCP server on standard input and output that starts only with its token. Its one
// tool returns a word, and the names of the server's variables.
func vault() {
	if os.Getenv("VAULT_TOKEN") != vaultToken {
		fmt.Fprintln(os.Stderr, "the vault stays shut: VAULT_TOKEN is not the one that opens it")
		os.Exit(3)
	}
	var given []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		given = append(given, name)
	}
	slices.Sort(given)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if in.Decode(&call) != nil {
			return
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": call.ID}
		switch call.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]string{"name": "vault", "version": "1"},
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{
				"name": "read_word", "description": "Reads the secret word of the vault.", "inputSchema": map[string]string{"type": "object"},
				"annotations": map[string]bool{"readOnlyHint": true},
			}}}
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]string{
				"type": "text", "text": "The secret word of the vault is amaranth. It was given: " + strings.Join(given, " "),
			}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "unknown method"}
		}
		if call.ID != nil { // a notification wants no answer
			_ = out.Encode(answer)
		}
	}
}

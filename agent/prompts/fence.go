package prompts

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"molar/schemas"
)

// Nonce returns 16 random hexadecimal characters: the mark of one turn's fences,
// which nothing that was written before the turn can contain.
func Nonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// Fence puts a value, as JSON, between two lines that carry the nonce. In the JSON
// <, > and & are escaped, so that no text can close the fence or forge a control
// token of a chat template.
func Fence(nonce, source string, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		data, _ = json.Marshal(fmt.Sprintf("unreadable data: %v", err))
	}
	return fmt.Sprintf("<data-%s source=%q>\n%s\n</data-%s>", nonce, source, data, nonce)
}

// Result fences a tool result as the model reads it: {toolName, output} and, for a
// failure, isError.
func Result(nonce string, r schemas.ToolResult) string {
	shown := struct {
		ToolName string          `json:"toolName"`
		Output   json.RawMessage `json:"output"`
		IsError  bool            `json:"isError,omitempty"`
	}{r.ToolName, r.Output, r.IsError}
	return Fence(nonce, r.Server, shown)
}

func jsonString(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return data
}

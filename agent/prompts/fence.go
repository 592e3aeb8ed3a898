package prompts

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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
// failure, isError. An output of more than maxBytes is cut, with a mark; 0 means no
// limit.
func Result(nonce string, r schemas.ToolResult, maxBytes int) string {
	shown := struct {
		ToolName string          `json:"toolName"`
		Output   json.RawMessage `json:"output"`
		IsError  bool            `json:"isError,omitempty"`
	}{r.ToolName, bounded(r, maxBytes), r.IsError}
	return Fence(nonce, r.Server, shown)
}

// Results is the message that answers the calls of one round, in call order.
func Results(nonce string, results []schemas.ToolResult, maxBytes int) schemas.Message {
	message := schemas.Message{Role: schemas.RoleTool}
	for _, r := range results {
		message.Parts = append(message.Parts, schemas.Part{Kind: schemas.PartResult, Text: Result(nonce, r, maxBytes), Result: &r})
	}
	return message
}

func bounded(r schemas.ToolResult, maxBytes int) json.RawMessage {
	if maxBytes <= 0 || len(r.Output) <= maxBytes {
		return r.Output
	}
	text := r.OutputText()
	cut := strings.ToValidUTF8(text[:min(maxBytes, len(text))], "")
	return jsonString(cut + fmt.Sprintf("\n… (%d of %d bytes left out)", len(text)-len(cut), len(text)))
}

func jsonString(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return data
}

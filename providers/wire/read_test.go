package wire_test

import (
	"encoding/json"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// A reading is the content of an answer.
type reading struct {
	Text, Thinking string
	Calls          []string // name and arguments
	Prompt, Answer int      // tokens
	Finish         string
}

// object is any JSON object.
type object = map[string]any

func canonical(args string) string {
	var v any
	if json.Unmarshal([]byte(args), &v) != nil || v == nil {
		v = object{}
	}
	data, _ := json.Marshal(v)
	return string(data)
}

// read receives an answer as the host does.
func read(t *testing.T, p providers.Provider, req providers.Request) (reading, schemas.Message, error) {
	t.Helper()
	var got reading
	said := schemas.Message{Role: schemas.RoleAssistant}
	var failed error
	for chunk, err := range p.Stream(t.Context(), req) {
		if failed != nil || got.Finish != "" {
			t.Error("something came after the end")
		}
		if failed = err; err != nil {
			continue
		}
		if chunk.Retract {
			got.Text, got.Thinking = "", got.Thinking+got.Text
		}
		got.Text += chunk.Text
		got.Thinking += chunk.Thinking
		got.Finish += string(chunk.Finish)
		if chunk.Usage != nil {
			got.Prompt, got.Answer = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
		switch {
		case chunk.Call != nil:
			got.Calls = append(got.Calls, chunk.Call.Function.Name+" "+canonical(chunk.Call.Function.Arguments))
			said.Parts = append(said.Parts, schemas.Part{Kind: schemas.PartCall, Call: chunk.Call, State: chunk.State})
		case chunk.Text != "" || chunk.State != nil:
			said.Parts = append(said.Parts, schemas.Part{Kind: schemas.PartText, Text: chunk.Text, State: chunk.State})
		}
	}
	return got, said, failed
}

package tape_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"molar/eval/tape"
	"molar/providers/openai"
	"molar/schemas"
)

// A turn over the Responses API is recorded and replayed without drift, with its reasoning between
// the rounds.
func TestRecorder_Responses(t *testing.T) {
	t.Parallel()
	rounds := []tape.WireAnswer{
		{Thinking: "I look.", Signature: "gAAA", Calls: []tape.Call{{ID: "call_1", Name: "s__f", Arguments: `{"a":"b"}`}}},
		{Text: "Brush twice.", Prompt: 7, Completion: 3},
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wire, _ := tape.WireOf(r.URL.Path)
		stream := rounds[n].Stream(wire, "m")
		n++
		w.Header().Set("Content-Type", stream.ContentType)
		for _, chunk := range stream.Chunks {
			_, _ = w.Write(chunk)
		}
	}))
	defer server.Close()
	opened := func(transport http.RoundTripper) *openai.Provider {
		p, err := openai.New(openai.Config{API: openai.APIResponses, BaseURL: server.URL + "/v1", HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	rec, b := record(t)
	p := rec.Provider(opened(rec.Transport(http.DefaultTransport)), false)
	req := request()
	ctx := tape.InTurn(t.Context(), 1)
	var said schemas.Message
	for chunk, err := range p.Stream(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Call != nil {
			said = schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: chunk.Call, State: chunk.State}}}
		}
	}
	second := req
	second.Messages = append(append([]schemas.Message{}, req.Messages...), said, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{
		{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: said.Parts[0].Call.ID, Output: []byte(`"x"`)}},
	}})
	text, _, err := modelText(ctx, p, second)
	if err != nil || text != "Brush twice." {
		t.Fatalf("%q, %v", text, err)
	}
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	player := play(t, b.Bytes(), nil)
	if !player.Tape().Speaks(tape.Responses) || player.Tape().Speaks(tape.OpenAI) {
		t.Error("the tape does not tell its wire")
	}
	played := player.Provider(opened(player.Transport(http.DefaultTransport)), false)
	if _, _, err := modelText(ctx, played, req); err != nil {
		t.Fatal(err)
	}
	again, _, err := modelText(ctx, played, second)
	if err != nil || again != text {
		t.Errorf("the replay said %q (%v)", again, err)
	}
	if causes, _ := player.Finish(); len(causes) > 0 {
		t.Errorf("drift in an unchanged replay: %+v", causes)
	}
}

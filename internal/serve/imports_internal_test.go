package serve

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/memory"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	memoryserver "molar/mcpservers/memory"
	"molar/schemas"
	"molar/web/responses"
)

// memoryClient returns a client of a memory server in process.
func memoryClient(t *testing.T) *memory.Client {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "molar.db")})
	if err != nil {
		t.Fatal(err)
	}
	server, err := memoryserver.New(memoryserver.Config{Store: db, FileBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := mcpclients.New(mcpclients.Config{Servers: []transport.ServerConfig{{Name: memory.ServerName, InProcess: server}}})
	if err != nil {
		t.Fatal(err)
	}
	manager.Start(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		if err := errors.Join(manager.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := manager.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	client, err := memory.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// An imported exchange is stored like one of a turn, with its files and calls, and read as the
// client's text.
func TestImports(t *testing.T) {
	client := memoryClient(t)
	i, ctx := imports{client}, t.Context()
	call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "f", Arguments: "{}"}}
	rounds := []schemas.Round{{
		Said:    schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}},
		Results: []schemas.ToolResult{{ID: "k", ToolName: "f", Server: agent.PauseClient, Output: []byte(`"found"`)}},
	}}
	first, err := i.Import(ctx, "ann", "c", nil, responses.Exchange{
		Question: "one", Answer: "1", Rounds: rounds,
		Files: []schemas.Part{schemas.FilePart("a.png", "image/png", []byte("png")), {Kind: schemas.PartImage, Text: "https://example.com/a.png"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	second, err := i.Import(ctx, "ann", "c", nil, responses.Exchange{Question: "two"})
	if err != nil {
		t.Fatal(err)
	}
	third, err := i.Import(ctx, "ann", "c", &first, responses.Exchange{Question: "two", Answer: "2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.DeleteTurn(ctx, "ann", "c", second); err != nil {
		t.Fatal(err)
	}
	messages, _, _, err := client.Messages(ctx, "ann", "c")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		got = append(got, m.Content+" "+m.Status)
	}
	if diff := cmp.Diff([]string{"one ", "1 ", "two ", "2 "}, got); diff != "" {
		t.Error(diff)
	}
	theirs := []schemas.Origin{schemas.FromClient}
	rounds[0].Traced, rounds[0].Read, rounds[0].Question = true, theirs, theirs
	if diff := cmp.Diff(rounds, messages[1].Rounds()); diff != "" {
		t.Error(diff)
	}
	if bare := messages[3].Rounds(); len(bare) != 1 || !bare[0].Traced || !slices.Equal(bare[0].Question, theirs) || !slices.Equal(bare[0].Read, theirs) {
		t.Errorf("an exchange without calls has %+v", bare)
	}
	files, err := client.Files(ctx, "ann", "c")
	if err != nil || len(files) != 1 || files[0].Name != "a.png" || files[0].Seq != messages[0].Seq {
		t.Errorf("files %+v, %v", files, err)
	}
	opening, err := client.Begin(ctx, memory.BeginRequest{Owner: "ann", ConversationID: "c"})
	if err != nil || !cmp.Equal(opening.ServersRead, []string{agent.PauseClient}) || opening.Assistant != agent.PauseClient || opening.Tip != third {
		t.Errorf("opening %+v, %v", opening, err)
	}
	if err := client.Release(ctx, opening.Lease); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the lease of a failed one is released
		if err := i.DeleteTurn(ctx, "ann", "c", "none"); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("an unknown turn: %v", err)
		}
	}
	if err := i.DeleteTurn(ctx, "bob", "c", third); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("another owner's turn: %v", err)
	}
}

// A question without an answer is not summarised.
func TestImports_Unanswered(t *testing.T) {
	client := memoryClient(t)
	if _, err := (imports{client}).Import(t.Context(), "", "c", nil, responses.Exchange{Question: "one"}); err != nil {
		t.Fatal(err)
	}
	messages, _, _, err := client.Messages(t.Context(), "", "c")
	if err != nil || len(messages) != 2 || messages[1].Status != schemas.StatusInterrupted {
		t.Errorf("messages %+v, %v", messages, err)
	}
}

package memory_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/agent/memory"
	"molar/internal/store"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	memoryserver "molar/mcpservers/memory"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of the real memory server, in process, over the
// database at path.
func newClient(t *testing.T, path string) *memory.Client {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	server, err := memoryserver.New(memoryserver.Config{Store: db, CompressAfterSummary: true})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := mcpclients.New(mcpclients.Config{
		Servers: []transport.ServerConfig{{Name: memory.ServerName, InProcess: server}},
	})
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
	c, err := memory.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fresh(t *testing.T) *memory.Client {
	t.Helper()
	return newClient(t, filepath.Join(t.TempDir(), "molar.db"))
}

// begin opens a turn, and fails the test if it does not open.
func begin(t *testing.T, c *memory.Client, id, key string) schemas.Opening {
	t.Helper()
	o, err := c.Begin(t.Context(), memory.BeginRequest{ConversationID: id, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// peek opens a turn and releases the conversation again.
func peek(t *testing.T, c *memory.Client, id, key string) schemas.Opening {
	t.Helper()
	o := begin(t, c, id, key)
	if o.Finished == nil {
		if err := c.Release(t.Context(), o.Lease); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func save(t *testing.T, c *memory.Client, r memory.Record) {
	t.Helper()
	if err := c.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// turn opens and saves a turn.
func turn(t *testing.T, c *memory.Client, id, question, answer, status string) {
	t.Helper()
	o := begin(t, c, id, "")
	err := c.Save(t.Context(), memory.Record{
		Lease: o.Lease, Key: question, TurnID: "turn " + question, User: question, Answer: answer, Status: status, Language: "en",
	})
	if err != nil {
		t.Fatal(err)
	}
}

// brief holds the fields of a stored message that do not depend on the clock.
type brief struct {
	Seq                   int64
	Role, Content, Status string
}

func briefs(messages []schemas.StoredMessage) []brief {
	var all []brief
	for _, m := range messages {
		all = append(all, brief{m.Seq, string(m.Role), m.Content, m.Status})
	}
	return all
}

func TestNew_WantsARequester(t *testing.T) {
	if _, err := memory.New(nil); err == nil {
		t.Error("no error")
	}
}

// A turn is opened, saved and read again, with all its fields. Opening alone stores nothing.
func TestClient_Turn(t *testing.T) {
	c := fresh(t)
	o := begin(t, c, "chat_a", "")
	if o.Known || o.ConversationID != "chat_a" || o.Lease.Token == "" || len(o.Messages) > 0 || o.Summary != "" {
		t.Errorf("opening of a new conversation: %+v", o)
	}
	if list, _, err := c.List(t.Context(), "", "", 10, ""); err != nil || len(list) > 0 {
		t.Errorf("opening a turn left %v, %v", list, err)
	}
	sources := []schemas.Source{{Title: "A guide", URL: "https://example.org/a"}}
	call := schemas.ToolCall{ID: "c1", Function: schemas.FunctionCall{Name: "s__t", Arguments: `{"a":1}`}}
	round := schemas.Round{
		Said:    schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}},
		Results: []schemas.ToolResult{{ToolName: "t", ID: "c1", Server: "s", Output: []byte(`{"b":2}`)}},
	}
	record := memory.Record{
		Lease: o.Lease, Key: "k", TurnID: "t1", User: "Câu hỏi?", Answer: "Trả lời.", Sources: sources,
		Rounds: []schemas.Round{round}, ServersRead: []string{"s"}, Language: "vi",
	}
	if err := c.Save(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	again := begin(t, c, "chat_a", "")
	if !again.Known || again.Covers != 0 || again.Lease.Fence <= o.Lease.Fence {
		t.Errorf("second opening: %+v", again)
	}
	want := []brief{{1, "user", "Câu hỏi?", ""}, {2, "assistant", "Trả lời.", ""}}
	if diff := cmp.Diff(want, briefs(again.Messages)); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s"}, again.ServersRead); diff != "" {
		t.Errorf("servers read (-want +got)\n%s", diff)
	}
	stored, summary, known, err := c.Messages(t.Context(), "", "chat_a")
	if err != nil || !known || summary != "" || len(stored) != 2 {
		t.Fatalf("%v, summary %q, known %v, %v", stored, summary, known, err)
	}
	if diff := cmp.Diff(sources, stored[1].Sources); diff != "" {
		t.Errorf("sources (-want +got)\n%s", diff)
	}
	if stored[1].TurnID != "t1" || len(stored[1].Calls) == 0 || time.Since(stored[1].Timestamp) > time.Hour {
		t.Errorf("answer %+v", stored[1])
	}
}

// The same key is stored once, and a turn that begins with it gets the stored answer.
func TestClient_Save_Twice(t *testing.T) {
	c := fresh(t)
	o := begin(t, c, "chat_a", "key")
	record := memory.Record{Lease: o.Lease, Key: "key", TurnID: "t1", User: "q", Answer: "a"}
	for range 2 {
		if err := c.Save(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	messages, _, _, err := c.Messages(t.Context(), "", "chat_a")
	if err != nil || len(messages) != 2 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
	if f := begin(t, c, "chat_a", "key").Finished; f == nil || f.Answer != "a" || f.TurnID != "t1" || f.SavedAt.IsZero() {
		t.Errorf("finished %+v", f)
	}
	if f := begin(t, c, "chat_a", "other").Finished; f != nil {
		t.Errorf("another key is finished: %+v", f)
	}
}

// A turn is not saved if it was not recorded and has released its lease, or if its conversation
// was cleared or deleted meanwhile.
func TestClient_Save_Stale(t *testing.T) {
	tests := map[string]func(*memory.Client, schemas.Lease) error{
		"a later turn": func(c *memory.Client, l schemas.Lease) error {
			err := c.Release(t.Context(), l)
			begin(t, c, "chat_a", "")
			return err
		},
		"cleared": func(c *memory.Client, _ schemas.Lease) error { return c.Clear(t.Context(), "", "chat_a") },
		"deleted": func(c *memory.Client, _ schemas.Lease) error { return c.Delete(t.Context(), "", "chat_a") },
	}
	for name, overtake := range tests {
		t.Run(name, func(t *testing.T) {
			c := fresh(t)
			turn(t, c, "chat_a", "q", "a", "")
			o := begin(t, c, "chat_a", "")
			if err := overtake(c, o.Lease); err != nil {
				t.Fatal(err)
			}
			err := c.Save(t.Context(), memory.Record{Lease: o.Lease, Key: "late", User: "q", Answer: "too late"})
			if !errors.Is(err, memory.ErrStale) {
				t.Errorf("error %v, want ErrStale", err)
			}
		})
	}
}

func TestClient_List(t *testing.T) {
	c := fresh(t)
	for _, id := range []string{"chat_a", "chat_b", "chat_c"} {
		turn(t, c, id, "about "+id, "An answer.", "")
	}
	var found []string
	after := ""
	for range 5 {
		list, next, err := c.List(t.Context(), "", "", 2, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range list {
			found = append(found, entry.ID+" "+entry.Title)
		}
		if after = next; after == "" {
			break
		}
	}
	want := []string{"chat_c about chat_c", "chat_b about chat_b", "chat_a about chat_a"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("pages (-want +got)\n%s", diff)
	}
	list, next, err := c.List(t.Context(), "", "about chat_b", 10, "")
	if err != nil || len(list) != 1 || list[0].ID != "chat_b" || list[0].Messages != 2 || next != "" {
		t.Errorf("search: %+v, %q, %v", list, next, err)
	}
}

func TestClient_ChangesConversations(t *testing.T) {
	c, ctx := fresh(t), t.Context()
	turn(t, c, "chat_a/ü", "q", "a", "")
	if err := c.AddPiece(ctx, "", "chat_a/ü", schemas.Piece{Seq: 2, Text: "short"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rename(ctx, "", "chat_a/ü", "A name"); err != nil {
		t.Error(err)
	}
	if list, _, err := c.List(ctx, "", "", 1, ""); err != nil || list[0].Title != "A name" {
		t.Errorf("list %v, %v", list, err)
	}
	if err := c.Clear(ctx, "", "chat_a/ü"); err != nil {
		t.Error(err)
	}
	if messages, summary, known, err := c.Messages(ctx, "", "chat_a/ü"); len(messages) > 0 || summary != "" || !known || err != nil {
		t.Errorf("after clearing: %v, %q, known %v, %v", messages, summary, known, err)
	}
	if err := c.Delete(ctx, "", "chat_a/ü"); err != nil {
		t.Error(err)
	}
	if _, _, known, err := c.Messages(ctx, "", "chat_a/ü"); known || err != nil {
		t.Errorf("after deleting: known %v, %v", known, err)
	}
}

func TestClient_UnknownConversation(t *testing.T) {
	c, ctx := fresh(t), t.Context()
	for name, err := range map[string]error{
		"rename":      c.Rename(ctx, "", "chat_none", "x"),
		"clear":       c.Clear(ctx, "", "chat_none"),
		"delete":      c.Delete(ctx, "", "chat_none"),
		"add a piece": c.AddPiece(ctx, "", "chat_none", schemas.Piece{Text: "x"}),
	} {
		if !errors.Is(err, memory.ErrUnknown) {
			t.Errorf("%s: %v, want ErrUnknown", name, err)
		}
	}
	if err := c.Rename(ctx, "", "", ""); err == nil || errors.Is(err, memory.ErrUnknown) || errors.Is(err, memory.ErrStale) {
		t.Errorf("a bad request: %v", err)
	}
}

// requester answers every request with the same error.
type requester struct{ err error }

func (r requester) Request(context.Context, string, string, any, any) error { return r.err }

// An error that is not the server's own is returned unchanged.
func TestClient_ServerGone(t *testing.T) {
	gone := errors.New("gone")
	c, err := memory.New(requester{gone})
	if err != nil {
		t.Fatal(err)
	}
	_, beginErr := c.Begin(t.Context(), memory.BeginRequest{ConversationID: "chat_a"})
	_, _, _, readErr := c.Messages(t.Context(), "", "chat_a")
	for _, err := range []error{beginErr, readErr, c.Save(t.Context(), memory.Record{})} {
		if !errors.Is(err, gone) || errors.Is(err, memory.ErrUnknown) {
			t.Errorf("error %v", err)
		}
	}
}

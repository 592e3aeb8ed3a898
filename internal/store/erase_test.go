package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

// What is deleted is gone from the bytes of the files, wherever it was written: short
// and long texts, results of tools, the summary, the title, traces.
func TestErase_LeavesNoTextInTheFiles(t *testing.T) {
	const secret = "penicillin allergy of the patient"
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, erase := range map[string]func(ctx context.Context, db *store.DB) error{
		"delete": func(ctx context.Context, db *store.DB) error { return db.Delete(ctx, "", "c") },
		"retention": func(ctx context.Context, db *store.DB) error {
			_, err := db.DeleteOlder(ctx, start.Add(time.Hour))
			return err
		},
		"clear": func(ctx context.Context, db *store.DB) error { return db.Clear(ctx, "", "c") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			db, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { return start }})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			tell(t, db, "c", secret)
			if !inFiles(t, path, secret) {
				t.Fatal("the files do not hold what was told")
			}
			if err := erase(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			if inFiles(t, path, secret) {
				t.Error("the files still hold the text")
			}
		})
	}
}

// Of a visitor whose conversation rests no text stays in the files either.
func TestDeleteVisitors_LeavesNoTextInTheFiles(t *testing.T) {
	const secret = "penicillin allergy of the visitor"
	ctx, start := t.Context(), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "memory.db")
	db := openConfig(t, store.Config{Path: path, Now: func() time.Time { return start }})
	owner := schemas.VisitorOwner("token")
	id := schemas.VisitorConversation(owner)
	begun, err := db.BeginTurn(ctx, store.TurnRequest{Owner: owner, ConversationID: id, TTL: time.Minute})
	if err == nil {
		_, err = db.SaveTurn(ctx, store.Turn{Lease: begun.Lease, TurnID: "t", User: secret, Answer: secret})
	}
	if err == nil {
		err = db.PutFile(ctx, begun.Lease, "t", schemas.File{Name: "f.txt", Media: "text/plain", Size: int64(len(secret))}, schemas.FileChunk{Data: []byte(secret), Last: true}, 100)
	}
	if err == nil {
		err = db.PutHandover(ctx, schemas.Handover{ID: "h", Owner: owner, ConversationID: id, Contact: map[string]string{"name": secret}, State: schemas.HandoverFailed, CreatedAt: start},
			schemas.WebhookEvent{ID: "msg_h", Hook: "handover", Owner: owner, Body: []byte(`"` + secret + `"`), Created: start, Next: start})
	}
	if err != nil {
		t.Fatal(err)
	}
	if !inFiles(t, path, secret) {
		t.Fatal("the files do not hold what was told")
	}
	if n, err := db.DeleteVisitors(ctx, start.Add(time.Hour)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if inFiles(t, path, secret) {
		t.Error("the files still hold the text")
	}
}

// tell writes the secret everywhere where a conversation can hold it.
func tell(t *testing.T, db *store.DB, id, secret string) {
	t.Helper()
	ctx := t.Context()
	begun, err := db.BeginTurn(ctx, store.TurnRequest{ConversationID: id, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.SaveTurn(ctx, store.Turn{
		Lease: begun.Lease, TurnID: "t", User: secret, Answer: strings.Repeat(secret+" ", 4000), // several pages
		Calls:   []byte(`[{"results":[{"output":"` + secret + `"}]}]`),
		Subject: secret, Compaction: &schemas.Compaction{Covers: 2, Text: secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AddPiece(ctx, "", id, schemas.Piece{Seq: 2, Text: secret, Condensed: secret}); err != nil {
		t.Fatal(err)
	}
	if err := db.SetSummary(ctx, "", id, secret, nil); err != nil {
		t.Fatal(err)
	}
	leaveRunning(t, db, id, secret)
	if _, _, err := db.ClaimKey(ctx, schemas.KeyRecord{Key: "k", Hash: "h", TurnID: "t", ConversationID: id}); err != nil {
		t.Fatal(err)
	}
	if err := db.SetKey(ctx, schemas.KeyRecord{
		Key: "k", TurnID: "t", ConversationID: id, Outcome: []byte(`"` + secret + `"`),
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.KeepTurn(ctx, schemas.PauseRecord{
		ConversationID: id, CallIDs: []string{"call"}, State: []byte(`"` + secret + `"`), Expires: begun.Lease.Expires,
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.PutTraces(ctx, []store.Trace{{TurnID: "t", ConversationID: id, Body: []byte(`"` + secret + `"`)}}); err != nil {
		t.Fatal(err)
	}
}

// leaveRunning leaves the journal of a turn with a call and a text so far.
func leaveRunning(t *testing.T, db *store.DB, id, secret string) {
	t.Helper()
	ctx := t.Context()
	if _, err := db.BeginTurn(ctx, store.TurnRequest{ConversationID: id, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	j := db.Journal("a")
	if err := j.Begin(ctx, schemas.JournalTurn{ID: "running", ConversationID: id, State: []byte(`"` + secret + `"`)}); err != nil {
		t.Fatal(err)
	}
	news := schemas.JournalNews{
		TurnID: "running", Rows: []schemas.JournalRow{{First: 1, Last: 1, Body: `["` + secret + `"]`}}, Rounds: []schemas.JournalRound{{N: 1, Body: secret}},
	}
	if held, err := j.Write(ctx, true, []schemas.JournalNews{news}); err != nil || len(held) != 1 {
		t.Fatal(held, err)
	}
}

func inFiles(t *testing.T, path, text string) bool {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// Of an owner nothing stays but the lines of the audit, and nothing of others goes.
func TestDB_ErasePerson(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path)
	for _, owner := range []string{"ann", "bob"} {
		for _, id := range []string{"c", owner + "'s own"} {
			begun, err := db.BeginTurn(ctx, store.TurnRequest{Owner: owner, ConversationID: id, TTL: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.SaveTurn(ctx, store.Turn{Lease: begun.Lease, TurnID: owner + id, User: owner + "'s secret", Answer: owner + "'s secret"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.PutTraces(ctx, []store.Trace{{TurnID: owner, Owner: owner, Body: []byte(`"` + owner + `'s secret"`)}}); err != nil {
			t.Fatal(err)
		}
		if err := db.PutGrant(ctx, owner, schemas.Grant{Tool: "mail__send", Arguments: []byte(`"` + owner + `'s secret"`)}); err != nil {
			t.Fatal(err)
		}
		if err := db.RememberAnswer(ctx, owner, []string{"h"}, []string{"file " + owner + "'s secret"}, time.Now(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ErasePerson(ctx, ""); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("everybody: %v", err)
	}
	if n, err := db.ErasePerson(ctx, "ann"); n["conversations"] != 2 || err != nil {
		t.Errorf("deleted %v, %v", n, err)
	}
	if inFiles(t, path, "ann's secret") || !inFiles(t, path, "bob's secret") {
		t.Error("ann's texts are still there, or bob's are gone")
	}
	for owner, want := range map[string]int{"ann": 0, "bob": 1} {
		if found, err := db.AnswerOrigins(ctx, owner, []string{"h"}); err != nil || len(found) != want {
			t.Errorf("%s: remembered %v, %v", owner, found, err)
		}
	}
	lines, err := db.ListAudit(ctx, schemas.AuditQuery{})
	grants, fault := db.GrantsOf(ctx, "bob", "c")
	if err != nil || fault != nil || len(lines) != 2 || lines[0].Person == "ann" || lines[1].Person != "bob" || len(grants) != 1 {
		t.Errorf("%v %v, %v %v", lines, err, grants, fault)
	}
}

// A host whose conversations are elsewhere forgets what it knows of one: that of its
// owner, and nothing of others.
func TestForgetConversation(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path)
	for _, trace := range []store.Trace{
		{TurnID: "1", Owner: "ann", ConversationID: "c", Body: []byte(`"ann's secret"`)},
		{TurnID: "2", Owner: "bob", ConversationID: "c", Body: []byte(`"bob's secret"`)},
		{TurnID: "3", Owner: "ann", ConversationID: "d", Body: []byte(`"another one"`)},
	} {
		if err := db.PutTraces(ctx, []store.Trace{trace}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		owner     string
		ann, bobs bool
	}{{"carl", true, true}, {"ann", false, true}, {"", false, false}} {
		if err := db.ForgetConversation(ctx, step.owner, "c"); err != nil {
			t.Fatal(err)
		}
		if ann, bobs := inFiles(t, path, "ann's secret"), inFiles(t, path, "bob's secret"); ann != step.ann || bobs != step.bobs {
			t.Errorf("after %q: ann's %v, bob's %v", step.owner, ann, bobs)
		}
	}
	if !inFiles(t, path, "another one") {
		t.Error("another conversation is forgotten too")
	}
}

package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/database"
	"molar/internal/store/storetest"
	"molar/schemas"
)

// tablesOfNobody are the tables without anything of a person. The lines of the audit stay, under a
// pseudonym. What was used of a budget is named by a hash of its owner: nobody begins anew by erasing
// themselves.
func tablesOfNobody() []string {
	return []string{
		"audit", "audit_ends", "budget_use", "budget_holds", "tool_refusals", "secrets", "logins", "added_servers", "server_marks", "molar_schema", "tool_decisions",
		"tool_switches", "schema_migrations", "goose_db_version", "tool_pins", "vectors", "server_protocols",
		"visit_counts", // named by the hash of a random number: a limit holds on after an erasure
	}
}

func TestErasePerson(t *testing.T) {
	testErasePerson(t, filepath.Join(t.TempDir(), "m.db"))
}

func TestErasePerson_Postgres(t *testing.T) {
	pg := storetest.StartPostgres(t)
	testErasePerson(t, pg.Database(t))
}

// Of a person who is erased no table holds anything, of the other one everything stays, and what a turn of
// the person would store afterwards is not stored.
func testErasePerson(t *testing.T, path string) {
	ctx := t.Context()
	db := openConfig(t, store.Config{Path: path})
	people := []string{"https://idp.example#ann", "https://idp.example#bob"}
	for _, owner := range people {
		fillPerson(t, db, owner)
	}
	base, err := database.Open(ctx, store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	known := append(tablesOfNobody(), store.PersonalTables()...)
	for _, table := range storetest.Tables(t, base.Read) {
		if !slices.Contains(known, table) {
			t.Errorf("nobody said whether the table %q holds what is a person's: add it to personalTables, or to the list of this test", table)
		}
	}
	ann, bob := "ann", "bob"
	before := storetest.Holding(t, base.Read, bob)
	if len(storetest.Holding(t, base.Read, ann)) < 14 {
		t.Fatalf("ann is in %v only: the test fills too little", storetest.Holding(t, base.Read, ann))
	}
	exported := map[string]int{}
	var text strings.Builder
	for r, err := range db.ExportPerson(ctx, people[0]) {
		if err != nil {
			t.Fatal(err)
		}
		exported[r.Kind]++
		text.Write(r.Data)
	}
	for _, kind := range []string{"conversation", "person", "sessions and keys", "traces", "wires", "responses", "feedback", "kept results", "paused turns", "repeatable answers", "grants", "hashes of answers", "requests for a person", "audit"} {
		if exported[kind] == 0 {
			t.Errorf("the export has no %s: %v", kind, exported)
		}
	}
	if strings.Contains(text.String(), "bob") || strings.Contains(text.String(), "hash-of-") {
		t.Error("the export holds what is bob's, or the hash of a key")
	}
	erased, err := db.ErasePerson(ctx, people[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("erased: %s", erased)
	late(t, db, people[0])
	if left := storetest.Holding(t, base.Read, ann); len(left) > 0 {
		t.Errorf("ann is still in %v", left)
	}
	if after := storetest.Holding(t, base.Read, bob); !slices.Equal(before, after) {
		t.Errorf("bob was in %v, and is in %v", before, after)
	}
	if _, err := db.CheckAudit(ctx); err != nil {
		t.Error(err)
	}
	again, err := db.ErasePerson(ctx, people[0])
	if err != nil || again.Total() > 0 {
		t.Errorf("again: %v, %v", again, err)
	}
	// A person who comes back is new, and can store again.
	fillPerson(t, db, people[0])
	if left := storetest.Holding(t, base.Read, ann); len(left) < 14 {
		t.Errorf("ann came back, and is in %v only", left)
	}
}

// fillPerson stores something of every kind of an owner; each text has the name in it.
func fillPerson(t *testing.T, db *store.DB, owner string) {
	t.Helper()
	ctx := t.Context()
	_, name, _ := strings.Cut(owner, "#")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.SavePerson(ctx, store.Person{Owner: owner, Issuer: "https://idp.example", Subject: name, Name: "The " + name, Email: name + "@example.com"}))
	id := fmt.Sprintf("ses_%s_%d", name, time.Now().UnixNano())
	must(db.AddKey(ctx, store.APIKey{ID: strings.ReplaceAll(id, name, fmt.Sprint(len(name), name[0])), Name: "The " + name, Hash: "hash-of-" + id, Scopes: []string{"chat"}, Session: true, Owner: owner}))
	begun, err := db.BeginTurn(ctx, store.TurnRequest{Owner: owner, ConversationID: "c", TTL: time.Minute})
	must(err)
	_, err = db.SaveTurn(ctx, store.Turn{Lease: begun.Lease, TurnID: begun.Lease.Token, User: "question of " + name, Answer: "answer to " + name})
	must(err)
	_, err = db.BeginTurn(ctx, store.TurnRequest{Owner: owner, ConversationID: "running", TTL: time.Minute})
	must(err)
	late(t, db, owner)
	_, ok, err := db.PutFeedback(ctx, schemas.Feedback{TurnID: "turn of " + name, Owner: owner, Mark: schemas.MarkDown, Note: "note of " + name})
	if must(err); !ok {
		t.Fatal("the feedback was not stored")
	}
	must(db.PutEvent(ctx, schemas.WebhookEvent{ID: "msg_" + name, Hook: "approvals", Owner: owner, Body: []byte(`"` + name + `"`), Created: time.Now(), Next: time.Now()}))
	must(db.PutHandover(ctx, schemas.Handover{ID: "handover of " + name, Owner: owner, ConversationID: "c", Contact: map[string]string{"name": name}, State: schemas.HandoverSending, CreatedAt: time.Now().Add(time.Second)}))
	must(db.PutMadeFile(ctx, schemas.MadeFile{TurnID: "turn of " + name, Kind: schemas.MadeTest, Path: "tests/" + name}))
	_, _, err = db.ClaimKey(ctx, schemas.KeyRecord{Owner: owner, Key: "k of " + name, Hash: "h", TurnID: "t", ConversationID: "c"})
	must(err)
	_, err = db.Journal("r").Write(ctx, true, []schemas.JournalNews{{TurnID: "journal of " + name, Rows: []schemas.JournalRow{{First: 1, Last: 1, Body: name}}}})
	must(err)
	must(db.Delete(ctx, owner, mustEnsure(t, db, owner, "erased by "+name))) // leaves a note
}

func mustEnsure(t *testing.T, db *store.DB, owner, id string) string {
	t.Helper()
	if err := db.Ensure(t.Context(), owner, id); err != nil {
		t.Fatal(err)
	}
	return id
}

// late stores what a turn stores while it runs and at its end, of one that began a minute ago; now, if the
// person is new.
func late(t *testing.T, db *store.DB, owner string) {
	t.Helper()
	ctx := t.Context()
	_, name, _ := strings.Cut(owner, "#")
	started := time.Now()
	if sessions, err := db.SessionsOf(ctx, owner); err != nil {
		t.Fatal(err)
	} else if len(sessions) == 0 {
		started = started.Add(-time.Minute)
	} else {
		started = started.Add(time.Second)
	}
	for _, err := range []error{
		db.PutTraces(ctx, []store.Trace{{TurnID: "turn of " + name, Owner: owner, ConversationID: "c", Started: started, Body: []byte(`{"q":"` + name + `"}`)}}),
		db.PutWire(ctx, store.Wire{TurnID: "turn of " + name, Owner: owner, ConversationID: "c", Started: started, Expires: started.Add(time.Hour), Tape: []byte("tape of " + name)}),
		db.PutResponse(ctx, schemas.StoredResponse{Owner: owner, ID: "r of " + name, ConversationID: "c", CreatedAt: started, Body: []byte(`{"a":"` + name + `"}`)}),
		db.KeepResult(ctx, schemas.KeptResult{Owner: owner, ConversationID: "c", ID: "k", Text: "result of " + name, Started: started}),
		db.KeepTurn(ctx, schemas.PauseRecord{Owner: owner, ConversationID: "c", CallIDs: []string{"call"}, State: []byte(`"` + name + `"`), Expires: time.Now().Add(time.Hour), Started: started}),
		db.PutGrant(ctx, owner, schemas.Grant{Tool: "mail__send", Arguments: []byte(`{"to":"` + name + `"}`), Started: started}),
		db.RememberAnswer(ctx, owner, []string{"h"}, []string{"file of " + name}, started, time.Now().Add(time.Hour)),
		db.AddUsage(ctx, []schemas.UsageLine{{Day: "2026-01-01", Owner: owner, Since: started, UsageSum: schemas.UsageSum{Calls: 1}}}),
		db.Audit(ctx, schemas.AuditLine{Person: "an approver", About: owner, Event: schemas.EventDecision, Started: started}),
		db.Audit(ctx, schemas.AuditLine{Person: owner, Event: schemas.EventDecision, Started: started}),
		db.SavePerson(ctx, store.Person{Owner: owner, Issuer: "https://idp.example", Subject: name, Name: "The " + name, LastSeen: started}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	erased := started.Before(time.Now().Add(-time.Second))
	err := db.Journal("r").Begin(ctx, schemas.JournalTurn{ID: "journal of " + name, Owner: owner, ConversationID: "c", State: []byte(`"` + name + `"`), Since: started})
	if erased != errors.Is(err, store.ErrTaken) || !erased && err != nil {
		t.Errorf("the journal of a late turn: %v", err)
	}
	begun, err := db.BeginTurn(ctx, store.TurnRequest{Owner: owner, ConversationID: "late", Began: started, TTL: time.Minute})
	if erased != errors.Is(err, store.ErrStaleLease) || !erased && err != nil {
		t.Errorf("the lease of a late turn: %v", err)
	}
	if err == nil {
		if err := db.EndTurn(ctx, begun.Lease); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.AnswerOrigins(ctx, owner, []string{"h"}); err != nil { // writes those that wait
		t.Fatal(err)
	}
}

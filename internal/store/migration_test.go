package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

// A database that was written before turns had a state opens as it was: everything is
// there, in one branch, its summaries and keys hold, and turns go on.
func TestOpen_MigratesTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	raw(t, path, dump(t, "sqlite"))
	testMigrated(t, open(t, path))
}

// A command that only looks at the database of another version leaves it as it was.
func TestOpen_AsIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	raw(t, path, dump(t, "sqlite"))
	if _, err := store.Open(t.Context(), store.Config{Path: path, AsIs: true}); err == nil || !strings.Contains(err.Error(), "molar migrate") {
		t.Errorf("error %v", err)
	}
	testMigrated(t, open(t, path))
	db, err := store.Open(t.Context(), store.Config{Path: path, AsIs: true})
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
}

func dump(t *testing.T, dialect string) string {
	t.Helper()
	script, err := os.ReadFile("testdata/before_turns." + dialect + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func testMigrated(t *testing.T, db *store.DB) {
	ctx := t.Context()
	var got []string
	for c, err := range db.Export(ctx, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Messages {
			got = append(got, fmt.Sprintf("%s/%s %d<%d %s %q %s<%s %s %d", c.Owner, c.ID, m.Seq, m.Parent, m.Role, m.Content, m.TurnID, m.ParentTurn,
				m.Status, len(m.Calls)+len(m.Sources)))
		}
		got = append(got, fmt.Sprintf("%s/%s %q %d %v", c.Owner, c.ID, c.Summary, c.Covers, c.Pieces))
	}
	want := []string{
		`ann/chat_a 1<0 user "Tôi bị đau răng, phải làm sao?" turn_a1<  0`,
		`ann/chat_a 2<1 assistant "Hãy đi khám sớm." turn_a1<  0`,
		`ann/chat_a 3<2 user "What time is it?" turn_a2<turn_a1  0`,
		`ann/chat_a 4<3 assistant "It is noon." turn_a2<  202`,
		`ann/chat_a 5<4 user "And tomorrow?" turn_a3<turn_a2  0`,
		`ann/chat_a 6<5 assistant "It will" turn_a3< interrupted 0`,
		`ann/chat_a "Bệnh nhân bị đau răng." 2 [{2  Bệnh nhân bị đau răng.}]`,
		`/by-hand 1<0 system "note" <  0`,
		`/by-hand 2<1 user "one" <  0`,
		`/by-hand 3<2 user "two" <  0`,
		`/by-hand 4<3 assistant "both" <  0`,
		`/by-hand "By hand\n\nin two pieces" 4 [{4  By hand` + "\n\n" + `in two pieces}]`,
		`/cleared 3<2 user "after" turn_c2<  0`,
		`/cleared 4<3 assistant "here" turn_c2<  0`,
		`/cleared 5<4 user "again" turn_c3<turn_c2  0`,
		`/cleared 6<5 assistant "too" turn_c3<  0`,
		`/cleared "" 2 []`,
		`bob/empty "" 0 []`,
		`bob/chat_a 1<0 user "bob asks" turn_b1<  0`,
		`bob/chat_a 2<1 assistant "bob is told" turn_b1<  0`,
		`bob/chat_a "" 0 []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the migration (-want +got)\n%s", diff)
	}
	again, err := db.BeginTurn(ctx, store.TurnRequest{Owner: "ann", ConversationID: "chat_a", Key: "key-a2", TTL: time.Minute})
	if err != nil || again.Finished == nil || again.Finished.Answer != "It is noon." {
		t.Errorf("a key of before: %+v, %v", again, err)
	}
	goesOn(t, db)
	works, err := db.ClaimSummaries(ctx, 10, 0, false, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	summaries := map[string]string{}
	for _, w := range works {
		for _, m := range w.Messages {
			summaries[w.Owner+"/"+w.ConversationID+" "+w.Summary] += m.Content + " "
		}
	}
	if diff := cmp.Diff(map[string]string{
		"ann/chat_a Bệnh nhân bị đau răng.": "What time is it? It is noon. new new ",
		"/cleared ":   "after here again too ",
		"bob/chat_a ": "bob asks bob is told ",
	}, summaries); diff != "" {
		t.Errorf("what awaits its summary (-want +got)\n%s", diff)
	}
}

// goesOn saves a turn after the last one, and one beside it.
func goesOn(t *testing.T, db *store.DB) {
	t.Helper()
	begin := func(parent *string) schemas.Opening {
		start, err := db.BeginTurn(t.Context(), store.TurnRequest{Owner: "ann", ConversationID: "chat_a", Parent: parent, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return start
	}
	start := begin(nil)
	if start.Tip != "turn_a3" || len(start.Messages) != 6 || start.Covers != 2 || len(start.ServersRead) != 1 {
		t.Errorf("opening %+v", start)
	}
	if err := db.EndTurn(t.Context(), start.Lease); err != nil {
		t.Fatal(err)
	}
	start = begin(new("turn_a2"))
	if start.Tip != "turn_a2" || len(start.Messages) != 4 || start.Summary != "Bệnh nhân bị đau răng." {
		t.Errorf("opening beside the last turn %+v", start)
	}
	if _, err := db.SaveTurn(t.Context(), store.Turn{Lease: start.Lease, TurnID: "turn_a4", User: "new", Answer: "new"}); err != nil {
		t.Fatal(err)
	}
	_, total, err := db.Messages(t.Context(), "ann", "chat_a", store.MessageRange{})
	if err != nil || total != 6 {
		t.Errorf("%d messages on the newest branch, %v", total, err)
	}
}

// What was learnt of tools when it was for ever is dropped.
func TestOpen_ForgetsRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path)
	if err := db.KeepRefusal(t.Context(), schemas.Refusal{Provider: "openai", Tool: "a__x", Digest: "d", Reason: "no", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("database/migrations/sqlite/*_forget_refusals.sql")
	if err != nil || len(scripts) != 1 {
		t.Fatalf("%q, %v", scripts, err)
	}
	script, err := os.ReadFile(scripts[0])
	if err != nil {
		t.Fatal(err)
	}
	raw(t, path, string(script))
	if got, err := db.Refusals(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

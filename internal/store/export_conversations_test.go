package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/internal/store"
	"molar/schemas"
)

func TestDB_Export(t *testing.T) {
	testExport(t, func(now func() time.Time) *store.DB { return openAt(t, now) })
}

func testExport(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return at })
	for i := range 250 { // more than two pages
		if err := db.Ensure(ctx, "ann", fmt.Sprint("c", i)); err != nil {
			t.Fatal(err)
		}
	}
	saveTurn(t, db, "c7", "t1", "by the operator") // goes on with ann's
	if err := db.AddMessage(ctx, "bob", "c7", store.Message{Role: schemas.RoleUser, Content: "bob's"}); err != nil {
		t.Fatal(err)
	}
	if err := db.SetSummary(ctx, "bob", "c7", "sum", nil); err != nil {
		t.Fatal(err)
	}
	read := func(owner, id string) (all []store.Exported) {
		for c, err := range db.Export(ctx, owner, id) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		return all
	}
	if n := len(read("", "")); n != 251 {
		t.Errorf("%d in all, want 251", n)
	}
	if n := len(read("ann", "")); n != 250 {
		t.Errorf("%d of ann, want 250", n)
	}
	want := store.Exported{
		Owner: "bob", ID: "c7", Title: "bob's", CreatedAt: at, UpdatedAt: at, Summary: "sum", Covers: 1,
		Messages: []store.ExportedMessage{{StoredMessage: schemas.StoredMessage{Seq: 1, Role: schemas.RoleUser, Content: "bob's", Timestamp: at}}},
		Pieces:   []schemas.Piece{{Seq: 1, Condensed: "sum"}},
	}
	got := read("bob", "c7")
	if len(got) != 1 || !cmp.Equal(got[0], want, cmpopts.IgnoreUnexported(store.Exported{})) {
		t.Errorf("%v", got)
	}
	owners, err := db.Owners(ctx, "c7")
	if err != nil || !cmp.Equal(owners, []string{"ann", "bob"}) {
		t.Errorf("owners %q, %v", owners, err)
	}
	for _, err := range db.Export(ctx, "", "") {
		if err != nil {
			t.Error(err)
		}
		break // must free what it holds
	}
}

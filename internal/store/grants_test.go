package store_test

import (
	"slices"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

func TestGrants(t *testing.T) {
	testGrants(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// A grant counts for its owner, its subject and its conversation, or all of them, until it is
// taken back or goes with its conversation.
func testGrants(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	db := open(time.Now)
	for _, g := range [][3]string{{"ann", "c1", "mail to bob"}, {"ann", "c1", "mail to bob"}, {"ann", "", "note"}, {"bob", "", "mail to bob"}} {
		if err := db.PutGrant(ctx, g[0], g[1], g[2]); err != nil {
			t.Fatal(err)
		}
	}
	granted := func(owner, conversation, subject string, want bool) {
		t.Helper()
		if got, err := db.Granted(ctx, owner, conversation, subject); err != nil || got != want {
			t.Errorf("%s in %s of %s: %v, %v", subject, conversation, owner, got, err)
		}
	}
	granted("ann", "c1", "mail to bob", true)
	granted("ann", "c2", "mail to bob", false)
	granted("ann", "c2", "note", true)
	granted("ann", "c1", "mail to eve", false)
	granted("bob", "c9", "mail to bob", true)
	granted("eve", "c1", "mail to bob", false)
	all, err := db.ListGrants(ctx, "ann")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	note := all[slices.IndexFunc(all, func(g schemas.Grant) bool { return g.Subject == "note" })]
	if ok, err := db.DeleteGrant(ctx, "bob", note.ID); ok || err != nil {
		t.Errorf("another's grant: %v, %v", ok, err)
	}
	if ok, err := db.DeleteGrant(ctx, "ann", note.ID); !ok || err != nil {
		t.Errorf("taken back: %v, %v", ok, err)
	}
	granted("ann", "c2", "note", false)
	if err := db.ForgetConversation(ctx, "ann", "c1"); err != nil {
		t.Fatal(err)
	}
	granted("ann", "c1", "mail to bob", false)
	granted("bob", "c1", "mail to bob", true)
}

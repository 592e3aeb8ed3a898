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

// A grant counts for its owner and its conversation, or all of them, until it is taken back or goes
// with its conversation.
func testGrants(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	db := open(time.Now)
	mail := schemas.Grant{Tool: "mail__send", From: "server web", Width: schemas.WidthHost, Arguments: []byte(`{"to":"bob@b.example"}`)}
	mailHere, exactly, note := mail, mail, schemas.Grant{Tool: "note__add"}
	mailHere.ConversationID, exactly.Width, exactly.ConversationID = "c1", "", "c1"
	put := func(owner string, all ...schemas.Grant) {
		t.Helper()
		for _, g := range all {
			if err := db.PutGrant(ctx, owner, g); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("ann", mailHere, mailHere, exactly, note)
	put("bob", mail)
	granted := func(owner, conversation string, want ...schemas.Grant) {
		t.Helper()
		got, err := db.GrantsOf(ctx, owner, conversation)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i].Owner != owner || got[i].ID == "" || got[i].GivenAt.IsZero() {
				t.Errorf("%+v", got[i])
			}
			got[i] = schemas.Grant{Tool: got[i].Tool, From: got[i].From, Width: got[i].Width, Arguments: got[i].Arguments, ConversationID: got[i].ConversationID}
		}
		byText := func(a, b schemas.Grant) int { return len(a.Subject()) - len(b.Subject()) }
		slices.SortFunc(got, byText)
		slices.SortFunc(want, byText)
		same(t, got, append([]schemas.Grant{}, want...))
	}
	granted("ann", "c1", mailHere, exactly, note)
	granted("ann", "c2", note)
	granted("bob", "c9", mail)
	granted("eve", "c1")
	granted("", "c1")
	all, err := db.ListGrants(ctx, "ann")
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if every, err := db.ListGrants(ctx, ""); err != nil || len(every) != 4 {
		t.Errorf("of everybody: %+v, %v", every, err)
	}
	id := all[slices.IndexFunc(all, func(g schemas.Grant) bool { return g.Tool == note.Tool })].ID
	for _, step := range []struct {
		owner string
		ok    bool
	}{{"bob", false}, {"ann", true}, {"ann", false}} {
		if ok, err := db.DeleteGrant(ctx, step.owner, id); ok != step.ok || err != nil {
			t.Errorf("taken back by %s: %v, %v", step.owner, ok, err)
		}
	}
	granted("ann", "c2")
	if err := db.ForgetConversation(ctx, "ann", "c1"); err != nil {
		t.Fatal(err)
	}
	granted("ann", "c1")
	granted("bob", "c1", mail)
}

package store_test

import (
	"testing"
	"time"

	"molar/internal/store"
)

func TestPersonLogins(t *testing.T) {
	testPersonLogins(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// testPersonLogins is the contract of the logins of people, for both databases.
func testPersonLogins(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	swap := func(owner string, revision int64, state string, want bool) {
		t.Helper()
		if got, err := db.SwapPersonLogin(ctx, owner, "desk", revision, state); err != nil || got != want {
			t.Fatalf("swap of %s at revision %d: %v, %v, want %v", owner, revision, got, err, want)
		}
	}
	swap("anna", 0, "one", true)
	swap("anna", 0, "two", false)
	swap("binh", 0, "other", true)
	state, revision, err := db.GetPersonLogin(ctx, "anna", "desk")
	if err != nil || state != "one" || revision == 0 {
		t.Fatalf("read %q, %d, %v", state, revision, err)
	}
	for i, want := range []bool{true, false} { // only one process may renew
		if leased, err := db.LeasePersonLogin(ctx, "anna", "desk", revision, time.Minute); err != nil || leased != want {
			t.Errorf("lease %d: %v, %v", i, leased, err)
		}
	}
	swap("anna", revision+1, "late", false)
	swap("anna", revision, "renewed", true)
	if all, err := db.ListPersonLogins(ctx, "anna"); err != nil || len(all) != 1 || all[0].State != "renewed" || all[0].Since.Sub(now).Abs() > time.Second {
		t.Errorf("the list of anna is %+v, %v", all, err)
	}
	if n, err := db.DeletePersonLogins(ctx, "anna"); err != nil || n != 1 {
		t.Errorf("deleted %d, %v", n, err)
	}
	if _, revision, err := db.GetPersonLogin(ctx, "anna", "desk"); err != nil || revision != 0 {
		t.Errorf("after the delete: %d, %v", revision, err)
	}
	if state, _, err := db.GetPersonLogin(ctx, "binh", "desk"); err != nil || state != "other" {
		t.Errorf("the login of binh is %q, %v", state, err)
	}
}

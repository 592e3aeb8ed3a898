package store_test

import (
	"errors"
	"testing"
	"time"

	"molar/internal/store"
)

func TestRotation(t *testing.T) {
	testRotation(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// A rotated key keeps its id; of its texts the newest two are known.
func testRotation(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	for _, k := range []store.APIKey{
		{ID: "key_1", Name: "ci", Hash: "h1", Scopes: []string{"chat"}},
		{ID: "ses_1", Name: "ci", Hash: "h9", Session: true, Parent: "key_1", MadeWith: "h1"},
	} {
		if err := db.AddKey(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	until := now.Add(24 * time.Hour)
	for i, tt := range []struct{ name, hash, before string }{{"ci", "h2", "h1"}, {"key_1", "h3", "h2"}} {
		was, err := db.RotateKey(ctx, tt.name, tt.hash, until)
		if err != nil || was.ID != "key_1" || was.Name != "ci" || was.Hash != tt.before {
			t.Fatalf("%+v %v", was, err)
		}
		keys, err := db.Keys(ctx)
		if err != nil || len(keys) != 2 {
			t.Fatalf("%v %v", keys, err)
		}
		if k := keys[0]; k.Hash != tt.hash || k.Previous != tt.before || !k.PreviousUntil.Equal(until) || keys[1].MadeWith != "h1" {
			t.Errorf("rotation %d: %+v, %+v", i, k, keys[1])
		}
	}
	for _, name := range []string{"nobody", "ses_1"} {
		if _, err := db.RotateKey(ctx, name, "h4", until); !errors.Is(err, store.ErrNoKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

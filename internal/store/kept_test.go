package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"molar/schemas"
)

// What is taken is there once, for its owner alone, until it expires.
func TestTakeKeptTurn(t *testing.T) {
	db := openState(t, filepath.Join(t.TempDir(), "molar.db"))
	ctx := t.Context()
	if err := db.KeepTurn(ctx, schemas.PauseRecord{Owner: "a", CallIDs: []string{"x"}, State: []byte(`{"n":1}`), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		owner, id string
		want      bool
	}{{"b", "x", false}, {"a", "y", false}, {"a", "x", true}, {"a", "x", false}} {
		got, ok, err := db.TakeKeptTurn(ctx, tt.owner, tt.id)
		if err != nil || ok != tt.want || ok && string(got) != `{"n":1}` {
			t.Errorf("%s %s: %s %v %v", tt.owner, tt.id, got, ok, err)
		}
	}
	if err := db.KeepTurn(ctx, schemas.PauseRecord{Owner: "a", CallIDs: []string{"x"}, State: []byte(`1`), Expires: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := db.TakeKeptTurn(ctx, "a", "x"); ok || err != nil {
		t.Errorf("an expired one: %v %v", ok, err)
	}
}

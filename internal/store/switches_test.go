package store_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestToolDecisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molar.db")
	db := openState(t, path)
	ctx := t.Context()
	want := schemas.ToolDecisions{Off: map[schemas.ToolRef]bool{}, Pins: map[string]map[string]string{}, Confirmed: map[string]schemas.Confirmation{}}
	check := func(db *store.DB) {
		t.Helper()
		got, err := db.ToolDecisions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decisions (-want +got):\n%s", diff)
		}
	}
	check(db)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.KeepSwitch(ctx, "a", "x", false))
	must(db.KeepSwitch(ctx, "a", "x", false))
	must(db.KeepSwitch(ctx, "b", "y", false))
	must(db.KeepSwitch(ctx, "b", "y", true))
	must(db.KeepSwitch(ctx, "b", "never off", true))
	must(db.KeepPins(ctx, "a", map[string]string{"x": "1", "gone": "2"}))
	must(db.KeepPins(ctx, "b", map[string]string{"y": "3"}))
	must(db.KeepPins(ctx, "a", map[string]string{"x": "4", "z": "5"}))
	confirmed := schemas.Confirmation{Closed: true, Instructions: "6", Tools: map[string]schemas.ToolMarks{"x": {Digest: "4", Adds: true, Content: []string{}}}}
	must(db.KeepConfirmation(ctx, "a", schemas.Confirmation{Public: true}))
	must(db.KeepConfirmation(ctx, "a", confirmed))
	want = schemas.ToolDecisions{
		Off:       map[schemas.ToolRef]bool{{Server: "a", Tool: "x"}: true},
		Pins:      map[string]map[string]string{"a": {"x": "4", "z": "5"}, "b": {"y": "3"}},
		Confirmed: map[string]schemas.Confirmation{"a": confirmed},
	}
	check(db)
	check(openState(t, path)) // another process
}

// What another process decides is noticed, and nothing but a change counts as one.
func TestVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	db, other := openState(t, path), openState(t, path)
	before, known := db.Version(t.Context())
	if again, _ := db.Version(t.Context()); !known || again != before {
		t.Fatalf("version %d, then %d: %v", before, again, known)
	}
	for name, by := range map[string]*store.DB{"another process": other, "this process": db} {
		if err := by.KeepSwitch(t.Context(), "s", "a tool of "+name, false); err != nil {
			t.Fatal(err)
		}
		now, _ := db.Version(t.Context())
		if now == before {
			t.Errorf("a change by %s is not noticed", name)
		}
		before = now
	}
}

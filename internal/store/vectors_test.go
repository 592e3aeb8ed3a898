package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestVectors(t *testing.T) {
	testVectors(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// A vector is found by its model and its hash, replaced by a newer one, and kept as long as it is used.
func testVectors(t *testing.T, open func(now func() time.Time) *store.DB) {
	const month = 30 * 24 * time.Hour
	ctx, now := t.Context(), time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	db := open(func() time.Time { return now })
	wants := func(model string, hashes []string, want ...schemas.Vector) {
		t.Helper()
		got, err := db.Vectors(ctx, model, hashes)
		slices.SortFunc(got, func(a, b schemas.Vector) int { return strings.Compare(a.Hash, b.Hash) })
		if diff := cmp.Diff(append([]schemas.Vector{}, want...), got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	a, b, newer := schemas.Vector{Hash: "a", Data: []byte{0, 255, 1}}, schemas.Vector{Hash: "b", Data: []byte{2}}, schemas.Vector{Hash: "a", Data: []byte{3}}
	if err := db.KeepVectors(ctx, "ollama m", []schemas.Vector{a, b}); err != nil {
		t.Fatal(err)
	}
	wants("ollama m", []string{"a", "b", "c"}, a, b)
	wants("openai m", []string{"a", "b"})
	wants("ollama m", nil)
	if err := db.KeepVectors(ctx, "ollama m", []schemas.Vector{newer}); err != nil {
		t.Fatal(err)
	}
	wants("ollama m", []string{"a"}, newer)

	now = now.Add(20 * 24 * time.Hour)
	wants("ollama m", []string{"b"}, b) // it is used
	now = now.Add(20 * 24 * time.Hour)
	if n, err := db.DropVectors(ctx, now.Add(-month)); n != 1 || err != nil {
		t.Error(n, err)
	}
	wants("ollama m", []string{"a", "b"}, b)
}

// 50,000 vectors of 768 numbers are read in the order of a second.
func BenchmarkVectors(b *testing.B) {
	const n, batch = 50_000, 1000
	db := stateOpenAt(b, time.Now)
	hash := func(i int) string { return fmt.Sprintf("%032x", i*7919) }
	for at := 0; at < n; at += batch {
		all := make([]schemas.Vector, batch)
		for i := range all {
			all[i] = schemas.Vector{Hash: hash(at + i), Data: make([]byte, 772)}
		}
		if err := db.KeepVectors(b.Context(), "m", all); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for at := 0; at < n; at += batch {
			hashes := make([]string, batch)
			for i := range hashes {
				hashes[i] = hash(at + i)
			}
			if got, err := db.Vectors(b.Context(), "m", hashes); err != nil || len(got) != batch {
				b.Fatal(len(got), err)
			}
		}
	}
}

// Vectors are read though nobody can note that they are used.
func TestVectors_noNote(t *testing.T) {
	ctx, now, path := t.Context(), time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), filepath.Join(t.TempDir(), "m.db")
	db := openConfig(t, store.Config{Path: path, Now: func() time.Time { return now }})
	kept := []schemas.Vector{{Hash: "a", Data: []byte{1}}}
	if err := db.KeepVectors(ctx, "m", kept); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(ctx, `CREATE TRIGGER refuse BEFORE UPDATE ON vectors BEGIN SELECT RAISE(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	now = now.Add(20 * 24 * time.Hour)
	got, err := db.Vectors(ctx, "m", []string{"a"})
	if diff := cmp.Diff(kept, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

package store_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"molar/internal/store"
)

func TestAnswers(t *testing.T) {
	testAnswers(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// An answer is known by each of its hashes to its owner, with all origins, until its time is over or
// its owner is erased.
func testAnswers(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	remember := func(owner string, hashes, origins []string, days int) {
		t.Helper()
		if err := db.RememberAnswer(ctx, owner, hashes, origins, now, now.AddDate(0, 0, days)); err != nil {
			t.Fatal(err)
		}
	}
	remember("ann", []string{"h1", "h2"}, []string{"server mail", "file offer\x00.pdf"}, 30)
	remember("ann", []string{"h1", "h1"}, []string{"web search", "server mail"}, 1)
	remember("ann", []string{"h3"}, nil, 30)
	remember("bob", []string{"h3"}, []string{"client"}, 1)
	remember("ann", nil, []string{"client"}, 30)
	known := func(owner string, want map[string][]string) {
		t.Helper()
		got, err := db.AnswerOrigins(ctx, owner, []string{"h1", "h2", "h3", "h4"})
		if err != nil {
			t.Fatal(err)
		}
		for _, origins := range got { // PostgreSQL cannot hold a NUL
			for i, origin := range origins {
				if origin == "file offer\uFFFD.pdf" {
					origins[i] = "file offer\x00.pdf"
				}
			}
		}
		same(t, got, want)
	}
	known("ann", map[string][]string{"h1": {"file offer\x00.pdf", "server mail", "web search"}, "h2": {"file offer\x00.pdf", "server mail"}, "h3": {}})
	known("bob", map[string][]string{"h3": {"client"}})
	known("eve", map[string][]string{})
	if got, err := db.AnswerOrigins(ctx, "ann", nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	now = now.AddDate(0, 0, 2)
	known("ann", map[string][]string{"h1": {"file offer\x00.pdf", "server mail", "web search"}, "h2": {"file offer\x00.pdf", "server mail"}, "h3": {}})
	known("bob", map[string][]string{})
	for _, want := range []int{1, 0} {
		if n, err := db.DropAnswers(ctx, now); err != nil || n != want {
			t.Errorf("%d were dropped, want %d: %v", n, want, err)
		}
	}
	remember("bob", []string{"h4"}, []string{"client"}, 30)
	if _, err := db.ErasePerson(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	known("ann", map[string][]string{})
	known("bob", map[string][]string{"h4": {"client"}})
}

// The key of the hashes is the same for all that share the state.
func TestAnswerKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	one, other := openState(t, path), openState(t, path)
	first, err := one.AnswerKey(t.Context())
	if err != nil || len(first) != 32 {
		t.Fatal(len(first), err)
	}
	if second, err := other.AnswerKey(t.Context()); err != nil || !bytes.Equal(first, second) {
		t.Error("another key", err)
	}
}

// An answer costs a turn a relaxed commit, and no wait for the disk.
func BenchmarkRememberAnswer(b *testing.B) {
	db := stateOpenAt(b, time.Now)
	hashes, origins := []string{"a", "b", "c", "d"}, []string{"server mail", "web search"}
	for i := range b.N {
		hashes[0] = time.Duration(i).String()
		if err := db.RememberAnswer(b.Context(), "ann", hashes, origins, time.Now(), time.Now().Add(time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
}

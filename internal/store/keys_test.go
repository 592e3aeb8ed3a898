package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestKeys(t *testing.T) {
	testKeys(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

func testKeys(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	ann := store.APIKey{ID: "key_1", Name: "ann", Hash: "h1", Scopes: []string{"chat", "admin"}, ExpiresAt: now.Add(time.Hour)}
	ann.KeyManner = schemas.KeyManner{Input: "data", System: "trusted", Ask: "never"}
	browser := store.APIKey{ID: "ses_1", Name: "ann", Hash: "h2", Scopes: []string{"chat"}, Session: true}
	for _, k := range []store.APIKey{ann, browser} {
		if err := db.AddKey(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.AddKey(ctx, store.APIKey{ID: "key_2", Name: "ann", Hash: "h3"}); !errors.Is(err, store.ErrKeyExists) || !strings.Contains(err.Error(), `"ann"`) {
		t.Errorf("a second key of one name: %v", err)
	}
	now = now.Add(time.Minute)
	if err := db.TouchKeys(ctx, map[string]time.Time{"key_1": now, "unknown": now}); err != nil {
		t.Fatal(err)
	}
	if err := db.TouchKeys(ctx, map[string]time.Time{"key_1": now.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	ann.CreatedAt, browser.CreatedAt, ann.LastUsed = now.Add(-time.Minute), now.Add(-time.Minute), now
	got, err := db.Keys(ctx)
	if diff := cmp.Diff([]store.APIKey{ann, browser}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if err := db.DropSessions(ctx, now); err != nil {
		t.Fatal(err)
	}
	if err := db.RevokeKey(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := db.RevokeKey(ctx, "key_1"); !errors.Is(err, store.ErrNoKey) {
		t.Errorf("a key revoked twice: %v", err)
	}
	if got, err := db.Keys(ctx); err != nil || len(got) != 0 {
		t.Errorf("left: %v %v", got, err)
	}
}

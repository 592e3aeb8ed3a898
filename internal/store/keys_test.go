package store_test

import (
	"errors"
	"slices"
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

// A session is its person's, or its key's, or the operator's.
func TestOwnSessions(t *testing.T) {
	testOwnSessions(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

func testOwnSessions(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	db := open(time.Now)
	for _, k := range []store.APIKey{
		{ID: "key_1", Name: "report", Hash: "h1"},
		{ID: "key_2", Name: "of ann", Hash: "h2", Owner: "idp#ann"},
		{ID: "ses_ann", Hash: "h3", Session: true, Owner: "idp#ann"},
		{ID: "ses_anns_key", Hash: "h4", Session: true, Owner: "idp#ann", Parent: "key_2"},
		{ID: "ses_key", Hash: "h5", Session: true, Parent: "key_1"},
		{ID: "ses_file", Hash: "h6", Session: true, Parent: "cfg_desk"},
		{ID: "ses_link", Hash: "h7", Session: true},
	} {
		if err := db.AddKey(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	for owner, want := range map[string][]string{
		"idp#ann": {"ses_ann", "ses_anns_key"}, "key_1": {"ses_key"}, "cfg_desk": {"ses_file"}, schemas.Operator: {"ses_link"}, "": nil, "idp#bob": nil,
	} {
		sessions, err := db.SessionsOf(ctx, owner)
		var got []string
		for _, s := range sessions {
			got = append(got, s.ID)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got)\n%s", owner, err, diff)
		}
	}
	for _, step := range []struct {
		owner string
		ids   []string
		ended int
	}{
		{"idp#bob", nil, 0}, {"", nil, 0}, {"key_1", []string{"ses_ann"}, 0}, {"idp#ann", []string{"ses_ann"}, 1}, {"idp#ann", []string{"ses_ann"}, 0}, {"idp#ann", nil, 1},
	} {
		if n, err := db.EndSessions(ctx, step.owner, step.ids...); err != nil || n != step.ended {
			t.Errorf("%+v: %d ended, %v", step, n, err)
		}
	}
	left, err := db.Keys(ctx)
	if err != nil || len(left) != 5 {
		t.Errorf("left %v, %v", left, err)
	}
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

package store_test

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"molar/internal/store"
)

func TestLogins(t *testing.T) {
	testLogins(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// testLogins is the contract of the logins, for both databases.
func testLogins(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	var clock atomic.Int64
	clock.Store(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	db := open(func() time.Time { return time.Unix(0, clock.Load()).UTC() })
	swap := func(revision int64, state string, want bool) {
		t.Helper()
		var raw json.RawMessage
		if state != "" {
			raw = json.RawMessage(state)
		}
		if got, err := db.SwapLogin(ctx, "s", revision, raw); err != nil || got != want {
			t.Fatalf("swap revision %d: %v, %v, want %v", revision, got, err, want)
		}
	}
	read := func(want string) int64 {
		t.Helper()
		state, revision, err := db.GetLogin(ctx, "s")
		if err != nil || string(state) != want || (revision == 0) != (want == "") {
			t.Fatalf("read %q, revision %d, %v, want %q", state, revision, err, want)
		}
		return revision
	}
	lease := func(revision int64, want bool) {
		t.Helper()
		if got, err := db.LeaseLogin(ctx, "s", revision, time.Minute); err != nil || got != want {
			t.Fatalf("lease revision %d: %v, %v, want %v", revision, got, err, want)
		}
	}
	read("")
	swap(7, `{"n":0}`, false)
	swap(0, `{"n":1}`, true)
	swap(0, `{"n":2}`, false)
	first := read(`{"n":1}`)
	lease(first+1, false)
	lease(first, true)
	lease(first, false)
	clock.Add(int64(time.Minute))
	lease(first, true) // its holder is gone
	swap(first, `{"n":3}`, true)
	swap(first, `{"n":4}`, false)
	second := read(`{"n":3}`)
	lease(second, true) // the swap ended the lease
	swap(first, "", false)
	swap(second, "", true)
	read("")
	clock.Add(int64(time.Second))
	swap(0, `{"n":5}`, true)
	if again := read(`{"n":5}`); again <= second {
		t.Errorf("revision %d after %d: a late writer could overwrite the new login", again, second)
	}
}

// Of many at once, one gets the lease.
func TestLogins_LeasedOnce(t *testing.T) {
	db := stateOpenAt(t, time.Now)
	if _, err := db.SwapLogin(t.Context(), "s", 0, json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	_, revision, err := db.GetLogin(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var leased atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			ok, err := db.LeaseLogin(t.Context(), "s", revision, time.Minute)
			if err != nil {
				t.Error(err)
			}
			if ok {
				leased.Add(1)
			}
		})
	}
	wg.Wait()
	if leased.Load() != 1 {
		t.Errorf("%d have the lease", leased.Load())
	}
}

package store_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"molar/internal/store"
)

func TestSecret(t *testing.T) {
	testSecret(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
	path := filepath.Join(t.TempDir(), "molar.db")
	read := func() []byte {
		db, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		secret, err := db.Secret(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	if first := read(); !bytes.Equal(first, read()) {
		t.Error("a restart changed the secret")
	}
}

func testSecret(t *testing.T, open func(now func() time.Time) *store.DB) {
	t.Helper()
	db := open(time.Now)
	read := func(name string) []byte {
		secret, err := db.Secret(t.Context(), name)
		if err != nil || len(secret) != 32 {
			t.Fatalf("%x, %v", secret, err)
		}
		return secret
	}
	first := read("a")
	if !bytes.Equal(first, read("a")) || bytes.Equal(first, read("b")) {
		t.Error("a secret belongs to its name")
	}
}

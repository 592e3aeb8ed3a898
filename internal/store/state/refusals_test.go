package state_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store/state"
)

func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molar.db")
	db := open(t, path)
	for _, r := range []state.Refusal{
		{Provider: "gemini", Tool: "a__x", Digest: "1", Reason: "too deep"},
		{Provider: "openai", Tool: "a__x", Digest: "1", Reason: "no"},
		{Provider: "gemini", Tool: "a__x", Digest: "2", Reason: "still too deep"},
	} {
		if err := db.KeepRefusal(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := open(t, path).Refusals(t.Context()) // another process
	want := []state.Refusal{{Provider: "gemini", Tool: "a__x", Digest: "2", Reason: "still too deep"}, {Provider: "openai", Tool: "a__x", Digest: "1", Reason: "no"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

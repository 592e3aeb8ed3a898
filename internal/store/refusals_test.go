package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/internal/store"
	"molar/schemas"
)

func TestRefusals(t *testing.T) {
	testRefusals(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// A refusal stands in the place of an older one of the same tool, until it is dropped or over.
func testRefusals(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx, db := t.Context(), open(time.Now)
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	refusal := func(provider, tool, reason string, at time.Time) schemas.Refusal {
		return schemas.Refusal{Provider: provider, Tool: tool, Digest: "d", Reason: reason, At: at}
	}
	keep := func(all ...schemas.Refusal) {
		t.Helper()
		for _, r := range all {
			if err := db.KeepRefusal(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants := func(want ...schemas.Refusal) {
		t.Helper()
		got, err := db.Refusals(ctx)
		for i := range got {
			got[i].At = got[i].At.UTC()
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	deep, still := refusal("gemini", "a__x", "too deep", at), refusal("gemini", "a__x", "still too deep", at.Add(time.Hour))
	other, mine := refusal("openai", "a__x", "no", at), refusal("openai", "b__y", "no", at)
	keep(deep, other, mine, still)
	wants(still, other, mine)
	if err := db.DropRefusals(ctx, "b__y"); err != nil {
		t.Fatal(err)
	}
	wants(still, other)
	late := refusal("ollama", "a__x", "no", at.Add(schemas.RefusalTime))
	keep(late)
	wants(still, late)
	if err := db.DropRefusals(ctx, ""); err != nil {
		t.Fatal(err)
	}
	wants()
}

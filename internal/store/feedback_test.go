package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestFeedback(t *testing.T) {
	testFeedback(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// Marks belong to turns that are known, by their trace or their conversation, and to the
// owner of these; they go with the conversation and with its time.
func testFeedback(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now := start
	db := open(func() time.Time { return now })
	stateSaveTurn(t, db, "kept", "saved", "hello")
	for id, owner := range map[string]string{"traced": "ann", "bobs": "bob"} {
		if err := db.PutTraces(ctx, []store.Trace{{TurnID: id, Owner: owner, ConversationID: "c-" + owner, Body: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(turn, owner, mark string) bool {
		t.Helper()
		now = now.Add(time.Second)
		_, ok, err := db.PutFeedback(ctx, schemas.Feedback{TurnID: turn, Owner: owner, Assistant: "dental", Mark: mark, Note: "of " + turn})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for _, tt := range []struct {
		turn, owner, mark string
		ok                bool
	}{
		{"traced", "ann", "up", true},
		{"traced", "ann", "down", true},
		{"bobs", "ann", "down", false},
		{"bobs", "bob", "up", true},
		{"saved", "", "down", true},
		{"unknown", "", "down", false},
	} {
		if ok := put(tt.turn, tt.owner, tt.mark); ok != tt.ok {
			t.Errorf("%s of %q: %v", tt.turn, tt.owner, ok)
		}
	}
	list := func(owner string, want schemas.FeedbackFilter) (turns []string) {
		t.Helper()
		found, err := db.ListFeedback(ctx, owner, want)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			turns = append(turns, f.TurnID+" "+f.Mark)
		}
		return turns
	}
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	all := []string{"saved down", "bobs up", "traced down"}
	check("all", list("", schemas.FeedbackFilter{}), all...)
	check("one owner's", list("ann", schemas.FeedbackFilter{}), "traced down")
	check("down", list("", schemas.FeedbackFilter{Mark: "down"}), "saved down", "traced down")
	check("a conversation", list("", schemas.FeedbackFilter{ConversationID: "c-bob"}), "bobs up")
	check("an assistant", list("", schemas.FeedbackFilter{Assistant: "family"}))
	check("since", list("", schemas.FeedbackFilter{Since: now.Add(-time.Second)}), "saved down")
	check("limit", list("", schemas.FeedbackFilter{Limit: 2}), all[:2]...)
	put("traced", "ann", "")
	check("taken back", list("", schemas.FeedbackFilter{}), all[:2]...)
	if err := db.Delete(ctx, "", "kept"); err != nil {
		t.Fatal(err)
	}
	check("after the conversation's end", list("", schemas.FeedbackFilter{}), "bobs up")
	if _, err := db.DeleteOlder(ctx, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	check("after its time", list("", schemas.FeedbackFilter{}))
}

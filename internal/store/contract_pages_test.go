package store_test

import (
	"fmt"
	"strings"
	"testing"

	"molar/internal/store"
	"molar/schemas"
)

// testPages reads the newest messages, and a whole history page by page.
func testPages(t *testing.T, f *fixture) {
	ctx := t.Context()
	add := func(owner, text string) {
		t.Helper()
		if err := f.AddMessage(ctx, owner, "c", store.Message{Role: schemas.RoleUser, Content: text}); err != nil {
			t.Fatal(err)
		}
	}
	recent := func(owner string, last int) string {
		t.Helper()
		messages, err := f.Recent(ctx, owner, "c", last)
		if err != nil || messages == nil {
			t.Fatal(messages, err)
		}
		var texts []string
		for _, m := range messages {
			texts = append(texts, m.Content)
		}
		return strings.Join(texts, " ")
	}
	pages := func(limit int) (got []string) {
		t.Helper()
		for after := int64(0); ; {
			page, next, err := f.MessagesAfter(ctx, "ann", "c", store.Branch{}, after, limit)
			if err != nil || page == nil {
				t.Fatal(page, err)
			}
			got = append(got, strings.Join(contents(page), " "))
			if after = next; next == 0 {
				return got
			}
		}
	}
	same(t, recent("ann", 6), "")
	same(t, pages(2), []string{""})
	for i := range 5 {
		add("ann", fmt.Sprint(i+1))
	}
	add("bob", "bob's")
	same(t, recent("ann", 3), "3 4 5")
	same(t, recent("ann", 30), "1 2 3 4 5")
	same(t, recent("bob", 6), "bob's")
	same(t, recent("", 6), "1 2 3 4 5")
	same(t, recent("carl", 6), "")
	same(t, pages(2), []string{"1 2", "3 4", "5"})
	same(t, pages(5), []string{"1 2 3 4 5"})
	if err := f.Clear(ctx, "ann", "c"); err != nil {
		t.Fatal(err)
	}
	same(t, recent("ann", 6), "")
	add("ann", "again")
	same(t, recent("ann", 6), "again")
	same(t, pages(2), []string{"again"})
}

package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

func testOwners(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.turn(t, "ann", "c", "t1", "")
	if start := f.look(t, "bob", ""); start.Known || len(start.Messages) != 0 {
		t.Errorf("bob sees %v", start)
	}
	same(t, f.texts(t, "bob", "c", store.MessageRange{}), []string{})
	for name, err := range map[string]error{
		"clear":   f.Clear(ctx, "bob", "c"),
		"delete":  f.Delete(ctx, "bob", "c"),
		"rename":  f.Rename(ctx, "bob", "c", "mine"),
		"summary": f.SetSummary(ctx, "bob", "c", "x", nil),
	} {
		t.Run(name, func(t *testing.T) { refused(t, err, store.ErrNotFound) })
	}
	// The same id is bob's to use, and says nothing of ann's.
	f.turn(t, "bob", "c", "t2", "")
	same(t, f.texts(t, "bob", "c", store.MessageRange{}), []string{"ask t2", "say t2"})
	same(t, f.texts(t, "ann", "c", store.MessageRange{}), []string{"ask t1", "say t1"})
	// Without an owner, everything is visible, and a turn goes on with what is there.
	page, err := f.List(ctx, store.ListRequest{Limit: 10})
	if err != nil || len(page.Conversations) != 2 {
		t.Errorf("%d conversations, %v", len(page.Conversations), err)
	}
	f.turn(t, "", "c", "t3", "")
	same(t, f.texts(t, "ann", "c", store.MessageRange{Last: 1}), []string{"say t3"})
}

func testRanges(t *testing.T, f *fixture) {
	ctx := t.Context()
	for i := range 10 {
		if err := f.AddMessage(ctx, "", "c", store.Message{Role: schemas.RoleUser, Content: fmt.Sprint(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SetSummary(ctx, "", "c", "sum", new(int64(3))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r    store.MessageRange
		want string
	}{
		"all":                   {store.MessageRange{}, "1 2 3 4 5 6 7 8 9 10"},
		"last":                  {store.MessageRange{Last: 3}, "8 9 10"},
		"more than there are":   {store.MessageRange{Last: 30}, "1 2 3 4 5 6 7 8 9 10"},
		"old":                   {store.MessageRange{SkipLast: 6}, "1 2 3 4"},
		"old and uncovered":     {store.MessageRange{SkipLast: 6, Uncovered: true}, "4"},
		"uncovered":             {store.MessageRange{Uncovered: true}, "4 5 6 7 8 9 10"},
		"last of the uncovered": {store.MessageRange{Uncovered: true, Last: 2}, "9 10"},
		"all skipped":           {store.MessageRange{SkipLast: 10}, ""},
		"more skipped":          {store.MessageRange{SkipLast: 11}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			messages, total, err := f.Messages(ctx, "", "c", c.r)
			if err != nil || total != 10 {
				t.Errorf("total %d, %v", total, err)
			}
			same(t, strings.Join(contents(messages), " "), c.want)
		})
	}
	messages, total, err := f.Messages(ctx, "", "unknown", store.MessageRange{})
	if err != nil || total != 0 || messages == nil || len(messages) != 0 {
		t.Errorf("unknown: %v, %d, %v", messages, total, err)
	}
}

func testSummary(t *testing.T, f *fixture) {
	ctx := t.Context()
	refused(t, f.SetSummary(ctx, "", "c", "x", nil), store.ErrNotFound)
	f.turn(t, "", "c", "t1", "")
	f.turn(t, "", "c", "t2", "")
	set := func(text string, covers *int64) error { return f.SetSummary(ctx, "", "c", text, covers) }
	check := func(text string, covers int64) {
		t.Helper()
		s, err := f.Summary(ctx, "", "c")
		if err != nil {
			t.Fatal(err)
		}
		same(t, s, store.Summary{Text: text, Covers: covers, UpdatedAt: f.clock()})
	}
	if err := set("one", new(int64(2))); err != nil {
		t.Fatal(err)
	}
	check("one", 2)
	same(t, f.texts(t, "", "c", store.MessageRange{Uncovered: true}), []string{"ask t2", "say t2"})
	refused(t, set("old", new(int64(1))), store.ErrConflict)
	refused(t, set("far", new(int64(5))), store.ErrInvalid)
	check("one", 2)
	if err := set("one\n\ntwo", nil); err != nil {
		t.Fatal(err)
	}
	check("one\n\ntwo", 4)
	same(t, f.texts(t, "", "c", store.MessageRange{Uncovered: true}), []string{})
	if err := set("", nil); err != nil {
		t.Fatal(err)
	}
	check("", 0)
	s, err := f.Summary(ctx, "", "unknown")
	if err != nil || s != (store.Summary{}) {
		t.Errorf("unknown: %v, %v", s, err)
	}
}

func (f *fixture) claim(t *testing.T, limit int) []schemas.SummaryWork {
	t.Helper()
	items, err := f.ClaimSummaries(t.Context(), limit, 0, false, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func testClaims(t *testing.T, f *fixture) {
	ctx := t.Context()
	if err := f.AddMessage(ctx, "", "by hand", store.Message{Role: schemas.RoleAssistant, Content: "x"}); err != nil {
		t.Fatal(err)
	}
	f.turn(t, "ann", "c1", "t1", "")
	f.pass(time.Second)
	f.turn(t, "", "c2", "t2", "")
	items := f.claim(t, 1)
	if len(items) != 1 {
		t.Fatalf("%d items", len(items))
	}
	got := items[0]
	same(t, contents(got.Messages), []string{"ask t1", "say t1"})
	got.Messages = nil
	same(t, got, schemas.SummaryWork{Owner: "ann", ConversationID: "c1", Language: "vi", Untitled: true})
	if items := f.claim(t, 10); len(items) != 1 || items[0].ConversationID != "c2" {
		t.Errorf("second claim: %v", items)
	}
	same(t, len(f.claim(t, 10)), 0)
	if err := f.SetSummary(ctx, "ann", "c1", "done", new(int64(2))); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Minute)
	if items := f.claim(t, 10); len(items) != 1 || items[0].ConversationID != "c2" {
		t.Errorf("after the claims ended: %v", items)
	}
	f.turn(t, "ann", "c1", "t3", "")
	items = f.claim(t, 10)
	if len(items) != 1 || items[0].Summary != "done" || items[0].Covers != 2 {
		t.Fatalf("after another turn: %v", items)
	}
	same(t, contents(items[0].Messages), []string{"ask t3", "say t3"})
}

// A conversation whose claim came to nothing stands behind the others.
func testClaimsInTurn(t *testing.T, f *fixture) {
	for _, id := range []string{"c1", "c2", "c3"} {
		f.turn(t, "", id, "t "+id, "")
		f.pass(time.Second)
	}
	var order []string
	for range 6 {
		items := f.claim(t, 1)
		if len(items) != 1 {
			t.Fatalf("after %v: %d items", order, len(items))
		}
		order = append(order, items[0].ConversationID)
		f.pass(2 * time.Minute)
	}
	same(t, order, []string{"c1", "c2", "c3", "c1", "c2", "c3"})
}

func testInterrupted(t *testing.T, f *fixture) {
	f.turn(t, "", "c", "t1", schemas.StatusInterrupted)
	same(t, len(f.claim(t, 1)), 0)
	f.turn(t, "", "c", "t2", "")
	f.turn(t, "", "c", "t3", schemas.StatusInterrupted)
	items := f.claim(t, 1)
	if len(items) != 1 {
		t.Fatalf("%d items", len(items))
	}
	same(t, contents(items[0].Messages), []string{"ask t2", "say t2"})
	same(t, items[0].Messages[1].Seq, int64(4))
	same(t, len(f.look(t, "", "").Messages), 6)
}

func testClear(t *testing.T, f *fixture) {
	ctx := t.Context()
	refused(t, f.Clear(ctx, "", "c"), store.ErrNotFound)
	f.turn(t, "", "c", "t1", "")
	running := f.begin(t, "", "c", "").Lease
	if err := f.Clear(ctx, "", "c"); err != nil {
		t.Fatal(err)
	}
	_, err := f.SaveTurn(ctx, store.Turn{Lease: running, TurnID: "t2", User: "q", Answer: "a"})
	refused(t, err, store.ErrStaleLease)
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{})
	same(t, len(f.claim(t, 1)), 0)
	c, ok, err := f.Conversation(ctx, "", "c")
	if err != nil || !ok || c.Messages != 0 || c.Title != "" {
		t.Errorf("%v %v %v", c, ok, err)
	}
	f.turn(t, "", "c", "t3", "")
	start := f.begin(t, "", "c", "")
	same(t, contents(start.Messages), []string{"ask t3", "say t3"})
	if start.Messages[0].Seq <= 2 {
		t.Errorf("seq %d was given before", start.Messages[0].Seq)
	}
}

// A worker that claimed a conversation before it was cleared must not bring its text
// back.
func testClearedSummary(t *testing.T, f *fixture) {
	f.turn(t, "", "c1", "t1", "")
	claimed := f.claim(t, 1)
	if len(claimed) != 1 {
		t.Fatalf("%d claims", len(claimed))
	}
	if err := f.Clear(t.Context(), "", "c1"); err != nil {
		t.Fatal(err)
	}
	last := claimed[0].Messages[len(claimed[0].Messages)-1].Seq
	refused(t, f.SetSummary(t.Context(), "", "c1", "what was said", &last), store.ErrConflict)
	if s, err := f.Summary(t.Context(), "", "c1"); err != nil || s.Text != "" {
		t.Errorf("summary %q, %v", s.Text, err)
	}
}

func testDelete(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.turn(t, "", "c", "t1", "")
	running := f.begin(t, "", "c", "").Lease
	if err := f.Delete(ctx, "", "c"); err != nil {
		t.Fatal(err)
	}
	refused(t, f.Delete(ctx, "", "c"), store.ErrNotFound)
	_, err := f.SaveTurn(ctx, store.Turn{Lease: running, TurnID: "t2", User: "q", Answer: "a"})
	refused(t, err, store.ErrStaleLease)
	if _, ok, err := f.Conversation(ctx, "", "c"); ok || err != nil {
		t.Errorf("still there: %v", err)
	}
	f.turn(t, "", "c", "t1", "")
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask t1", "say t1"})
}

func testList(t *testing.T, f *fixture) {
	ctx := t.Context()
	for i := range 7 {
		if err := f.Ensure(ctx, "ann", fmt.Sprint("c", i)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			f.pass(time.Second) // pairs share a time
		}
	}
	f.turn(t, "ann", "c2", "100%_t", "")
	if err := f.Rename(ctx, "ann", "c4", "Răng khôn"); err != nil {
		t.Fatal(err)
	}
	all := func(req store.ListRequest) (ids []string) {
		for range 10 {
			page, err := f.List(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Conversations {
				ids = append(ids, c.ID)
			}
			if page.Next == "" {
				return ids
			}
			req.After = page.Next
		}
		t.Fatal("the list has no end")
		return nil
	}
	want := []string{"c2", "c6", "c5", "c4", "c3", "c1", "c0"}
	for _, limit := range []int{1, 3, 7, 100} {
		same(t, all(store.ListRequest{Owner: "ann", Limit: limit}), want)
	}
	same(t, all(store.ListRequest{Owner: "bob", Limit: 5}), []string(nil))
	same(t, all(store.ListRequest{Limit: 5, Query: "khôn"}), []string{"c4"})
	same(t, all(store.ListRequest{Limit: 5, Query: "RăNG KHôN"}), []string{"c4"})
	same(t, all(store.ListRequest{Limit: 5, Query: "KHÔN"}), []string(nil)) // case is ignored for ASCII letters only
	same(t, all(store.ListRequest{Limit: 5, Query: "SAY 100%_"}), []string{"c2"})
	if page, err := f.List(ctx, store.ListRequest{Limit: 5, Query: "say 100%_"}); err != nil || !strings.Contains(page.Conversations[0].Snippet, "say 100%_") {
		t.Errorf("the search shows %+v, %v", page, err)
	}
	same(t, all(store.ListRequest{Limit: 5, Query: "0__t"}), []string(nil))
	_, err := f.List(ctx, store.ListRequest{Limit: 5, After: "nonsense"})
	refused(t, err, store.ErrInvalid)
}

func testTitle(t *testing.T, f *fixture) {
	ctx := t.Context()
	long := strings.Repeat("ế", 100)
	for _, m := range []store.Message{
		{Role: schemas.RoleAssistant, Content: "hello"},
		{Role: schemas.RoleUser, Content: long},
		{Role: schemas.RoleUser, Content: "later"},
	} {
		if err := f.AddMessage(ctx, "", "c", m); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := f.Conversation(ctx, "", "c")
	if err != nil {
		t.Fatal(err)
	}
	same(t, c.Title, strings.Repeat("ế", 60))
	for _, suggested := range []string{"a model's", "another one's"} { // the first stays
		if err := f.SuggestTitle(ctx, "", "c", suggested); err != nil {
			t.Fatal(err)
		}
		c, _, _ = f.Conversation(ctx, "", "c")
		same(t, c.Title, "a model's")
	}
	refused(t, f.SuggestTitle(ctx, "bob", "c", "mine"), store.ErrNotFound)
	if err := f.Rename(ctx, "", "c", "own name"); err != nil {
		t.Fatal(err)
	}
	f.turn(t, "", "c", "t1", "")
	if err := f.SuggestTitle(ctx, "", "c", "too late"); err != nil {
		t.Fatal(err)
	}
	c, _, _ = f.Conversation(ctx, "", "c")
	same(t, c.Title, "own name")
	works, err := f.ClaimSummaries(ctx, 10, 0, false, time.Minute)
	if err != nil || len(works) != 1 || works[0].Untitled {
		t.Errorf("to be named again: %+v, %v", works, err)
	}
}

// Turns, messages, summaries, clears and deletes of one conversation at once: each
// succeeds or is refused, and what is left is whole.
func testAtOnce(t *testing.T, f *fixture) {
	const rounds = 15
	ctx := t.Context()
	var wg sync.WaitGroup
	do := func(what string, action func(i int) error) {
		wg.Go(func() {
			for i := range rounds {
				err := action(i)
				if err != nil && !errors.Is(err, store.ErrStaleLease) && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrBusy) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	for w := range 3 {
		do("turn", func(i int) error {
			start, err := f.BeginTurn(ctx, store.TurnRequest{ConversationID: "c", TTL: time.Minute})
			if err != nil {
				return err
			}
			_, err = f.SaveTurn(ctx, store.Turn{Lease: start.Lease, TurnID: fmt.Sprint(w, "-", i), User: "q", Answer: "a"})
			return err
		})
	}
	do("message", func(int) error {
		return f.AddMessage(ctx, "", "c", store.Message{Role: schemas.RoleSystem, Content: "note"})
	})
	do("summary", func(int) error { return f.SetSummary(ctx, "", "c", "text", nil) })
	do("clear", func(int) error { return f.Clear(ctx, "", "c") })
	do("delete", func(i int) error {
		if i%5 > 0 {
			return f.Ensure(ctx, "", "c")
		}
		return f.Delete(ctx, "", "c")
	})
	wg.Wait()
	f.turn(t, "", "c", "last", "")
	messages, total, err := f.Messages(ctx, "", "c", store.MessageRange{})
	if err != nil || total != len(messages) {
		t.Fatalf("%d messages counted, %d read, %v", total, len(messages), err)
	}
	halves := map[string]int{}
	for i, m := range messages {
		if i > 0 && m.Seq != messages[i-1].Seq+1 {
			t.Errorf("seq %d after %d", m.Seq, messages[i-1].Seq)
		}
		if m.TurnID != "" {
			halves[m.TurnID]++
		}
	}
	for turn, n := range halves {
		if n != 2 {
			t.Errorf("turn %s has %d messages", turn, n)
		}
	}
}

// Answers whose summary can wait are claimed for a title alone, once, and all together with the
// first one that is due.
func testLater(t *testing.T, f *fixture) {
	ctx := t.Context()
	save := func(turnID string, later bool) {
		t.Helper()
		if _, err := f.SaveTurn(ctx, store.Turn{
			Lease: f.begin(t, "ann", "c", "").Lease, TurnID: turnID, User: "ask " + turnID, Answer: "say " + turnID, Later: later,
		}); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(titles bool) []schemas.SummaryWork {
		t.Helper()
		items, err := f.ClaimSummaries(ctx, 10, 0, titles, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return items
	}
	save("t1", true)
	same(t, len(claim(false)), 0)
	items := claim(true)
	if len(items) != 1 || !items[0].TitleOnly || !items[0].Untitled || len(items[0].Messages) != 2 {
		t.Fatalf("for a title: %+v", items)
	}
	same(t, len(claim(true)), 0) // it is claimed
	if err := f.SuggestTitle(ctx, "ann", "c", "A title"); err != nil {
		t.Fatal(err)
	}
	save("t2", true)
	same(t, len(claim(true)), 0)
	save("t3", false)
	items = claim(false)
	if len(items) != 1 || items[0].TitleOnly || items[0].Untitled {
		t.Fatalf("when one is due: %+v", items)
	}
	same(t, contents(items[0].Messages), []string{"ask t1", "say t1", "ask t2", "say t2", "ask t3", "say t3"})
	for _, seq := range []int64{2, 4, 6} {
		if err := f.AddPiece(ctx, "ann", "c", schemas.Piece{Seq: seq, Text: "piece"}); err != nil {
			t.Fatal(err)
		}
	}
	save("t4", true)
	same(t, len(claim(true)), 0)
}

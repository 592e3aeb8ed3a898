package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

func TestListTurns(t *testing.T) {
	testListTurns(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

// Each filter selects its turns, newest first, and pages join without gaps, also among turns of one
// time.
func testListTurns(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now := start
	db := open(func() time.Time { return now })
	add := func(id, owner, assistant string, outcome schemas.Outcome, question string) {
		t.Helper()
		err := db.PutTraces(ctx, []store.Trace{{TurnID: id, Owner: owner, ConversationID: "c-" + owner, Body: []byte(`{}`), Listed: store.Listed{
			Outcome: outcome, Assistant: assistant, Question: question, Tools: []string{"search_" + id}, Reason: "why " + id,
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("a", "ann", "dental", schemas.OutcomeDone, "Câu hỏi?")
	now = now.Add(time.Hour)
	add("b", "bob", "dental", schemas.OutcomeRefused, "")
	add("c", "bob", "office", schemas.OutcomeNotFound, "Where?")
	now = now.Add(time.Hour)
	add("d", "ann", "office", schemas.OutcomeNotFound, "When?")
	if _, ok, err := db.PutFeedback(ctx, schemas.Feedback{TurnID: "a", Owner: "ann", Mark: "up", Note: "thanks"}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, turn := range []string{"a", "c"} {
		if _, ok, err := db.PutReview(ctx, schemas.Feedback{TurnID: turn, Mark: "down", Note: "wrong"}); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	if _, ok, err := db.PutReview(ctx, schemas.Feedback{TurnID: "unknown", Mark: "down"}); err != nil || ok {
		t.Errorf("a mark of no turn: %v, %v", ok, err)
	}
	for _, f := range []schemas.MadeFile{{TurnID: "a", Kind: schemas.MadeTest}, {TurnID: "c", Kind: schemas.MadeCorrection, Path: "c.md"}} {
		if err := db.PutMadeFile(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := db.MadeOf(ctx, []string{"b", "c"}); err != nil || len(made) != 1 || made[0].Path != "c.md" {
		t.Errorf("made of a page of turns: %+v, %v", made, err)
	}
	if made, err := db.MadeOf(ctx, nil); err != nil || len(made) != 0 {
		t.Errorf("made of no turn: %+v, %v", made, err)
	}
	for name, tt := range map[string]struct {
		want schemas.TurnFilter
		ids  string
	}{
		"all":            {schemas.TurnFilter{}, "dcba"},
		"one owner":      {schemas.TurnFilter{Owner: "ann"}, "da"},
		"one outcome":    {schemas.TurnFilter{Outcomes: []schemas.Outcome{schemas.OutcomeNotFound}}, "dc"},
		"two outcomes":   {schemas.TurnFilter{Outcomes: []schemas.Outcome{schemas.OutcomeNotFound, schemas.OutcomeRefused}}, "dcb"},
		"none like it":   {schemas.TurnFilter{Outcomes: []schemas.Outcome{schemas.OutcomeFailed}}, ""},
		"an assistant":   {schemas.TurnFilter{Assistant: "dental"}, "ba"},
		"some":           {schemas.TurnFilter{Assistants: []string{"office", "o_fice"}}, "dc"},
		"none of them":   {schemas.TurnFilter{Assistants: []string{}}, ""},
		"one of others":  {schemas.TurnFilter{Assistant: "dental", Assistants: []string{"office"}}, ""},
		"good":           {schemas.TurnFilter{Marked: "up"}, "a"},
		"bad":            {schemas.TurnFilter{Marked: "down"}, "ca"},
		"marked":         {schemas.TurnFilter{Marked: "any"}, "ca"},
		"since an hour":  {schemas.TurnFilter{Since: start.Add(90 * time.Minute)}, "d"},
		"all of it":      {schemas.TurnFilter{Owner: "bob", Assistant: "office", Marked: "down", Outcomes: []schemas.Outcome{schemas.OutcomeNotFound}}, "c"},
		"one after one":  {schemas.TurnFilter{Limit: 1}, "dcba"},
		"two of a page":  {schemas.TurnFilter{Limit: 2}, "dcba"},
		"three of pages": {schemas.TurnFilter{Limit: 3}, "dcba"},
	} {
		if tt.want.Limit == 0 {
			tt.want.Limit = 10
		}
		got := ""
		for pages := 0; ; pages++ {
			page, next, err := db.ListTurns(ctx, tt.want)
			if err != nil || len(page) > tt.want.Limit || pages > 4 {
				t.Fatalf("%s: %v, %v", name, page, err)
			}
			for _, turn := range page {
				got += turn.ID
			}
			if tt.want.After = next; next == "" {
				break
			}
		}
		if got != tt.ids {
			t.Errorf("%s: %s, want %s", name, got, tt.ids)
		}
	}
	written := now
	for _, file := range []schemas.MadeFile{
		{TurnID: "a", Kind: schemas.MadeCorrection, Path: "x"}, {TurnID: "a", Kind: schemas.MadeCorrection, Path: "y"}, {TurnID: "a", Kind: schemas.MadeTest}, {TurnID: "b", Kind: schemas.MadeTest},
	} {
		if file.Kind == schemas.MadeCorrection {
			written = now
		}
		if err := db.PutMadeFile(ctx, file); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	page, _, err := db.ListTurns(ctx, schemas.TurnFilter{Assistant: "dental", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	question := "Câu hỏi?"
	want := []schemas.ListedTurn{
		{ID: "b", ConversationID: "c-bob", Owner: "bob", Assistant: "dental", Outcome: "refused", Reason: "why b", Tools: []string{"search_b"}, At: start.Add(time.Hour)},
		{ID: "a", ConversationID: "c-ann", Owner: "ann", Assistant: "dental", Outcome: "done", Reason: "why a", Mark: "down", Note: "wrong", MarkedBy: "reviewer", Question: &question, Tools: []string{"search_a"}, At: start, Corrected: written},
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Error(diff)
	}
	for _, cursor := range []string{"x", "12", "x.a"} {
		if _, _, err := db.ListTurns(ctx, schemas.TurnFilter{After: cursor, Limit: 1}); err == nil {
			t.Errorf("the cursor %q is taken", cursor)
		}
	}

	for name, tt := range map[string]struct {
		want schemas.FeedbackFilter
		n    int
	}{
		"of one turn":         {schemas.FeedbackFilter{TurnID: "a"}, 2},
		"of no assistant":     {schemas.FeedbackFilter{Assistants: []string{}}, 0},
		"of another one":      {schemas.FeedbackFilter{TurnID: "a", Assistants: []string{"other"}}, 0},
		"of all, as nil says": {schemas.FeedbackFilter{}, 3},
	} {
		if marks, err := db.ListMarks(ctx, tt.want); err != nil || len(marks) != tt.n {
			t.Errorf("marks %s: %+v, %v", name, marks, err)
		}
	}
	marks, err := db.ListMarks(ctx, schemas.FeedbackFilter{ConversationID: "c-ann"})
	if err != nil || len(marks) != 2 || marks[0].By == marks[1].By {
		t.Errorf("both marks of a turn: %+v, %v", marks, err)
	}
	if mark, ok, err := db.GetMark(ctx, "a"); err != nil || !ok || mark.Note != "wrong" {
		t.Errorf("the reviewer's mark comes first: %+v, %v, %v", mark, ok, err)
	}
	if _, _, err := db.PutReview(ctx, schemas.Feedback{TurnID: "a"}); err != nil {
		t.Fatal(err)
	}
	if mark, ok, err := db.GetMark(ctx, "a"); err != nil || !ok || mark.Note != "thanks" {
		t.Errorf("the person's mark is left: %+v, %v, %v", mark, ok, err)
	}
	if err := db.ForgetConversation(ctx, "bob", "c-bob"); err != nil {
		t.Fatal(err)
	}
	if marks, err := db.ListMarks(ctx, schemas.FeedbackFilter{}); err != nil || len(marks) != 1 {
		t.Errorf("marks after a conversation is erased: %+v, %v", marks, err)
	}
}

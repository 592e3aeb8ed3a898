package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

// record begins a turn and records its question.
func (f *fixture) record(t *testing.T, id, turnID, key string) schemas.Lease {
	t.Helper()
	lease := f.begin(t, "", id, key).Lease
	f.recordUnder(t, lease, turnID, key)
	return lease
}

func (f *fixture) recordUnder(t *testing.T, lease schemas.Lease, turnID, key string) {
	t.Helper()
	if err := f.RecordTurn(t.Context(), schemas.StartedTurn{Lease: lease, TurnID: turnID, Key: key, User: "ask " + turnID, Assistant: "general"}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) save(t *testing.T, lease schemas.Lease, turnID, key, answer string) {
	t.Helper()
	if _, err := f.SaveTurn(t.Context(), store.Turn{Lease: lease, TurnID: turnID, Key: key, User: "ask " + turnID, Answer: answer}); err != nil {
		t.Fatal(err)
	}
}

// states are the messages of the newest branch, with status and calls.
func (f *fixture) states(t *testing.T, id string) string {
	t.Helper()
	messages, total, err := f.Messages(t.Context(), "", id, store.MessageRange{})
	if err != nil || total != len(messages) {
		t.Fatalf("%d of %d messages, %v", len(messages), total, err)
	}
	var all []string
	for _, m := range messages {
		all = append(all, strings.Join(strings.Fields(m.Content+" "+m.Status+" "+string(m.Calls)), "_"))
	}
	return strings.Join(all, " ")
}

func testRecorded(t *testing.T, f *fixture) {
	ctx := t.Context()
	lease := f.begin(t, "", "c", "").Lease
	refused(t, f.RecordCall(ctx, lease, "t1", []byte(`{}`), ""), store.ErrNoTurn)
	for range 2 { // the answer to the first request was lost
		f.recordUnder(t, lease, "t1", "k")
	}
	same(t, f.states(t, "c"), "ask_t1 running")
	_, err := f.BeginTurn(ctx, store.TurnRequest{ConversationID: "c", TTL: time.Minute})
	busy, ok := errors.AsType[*store.BusyError](err)
	if !ok || busy.Left != time.Minute {
		t.Errorf("a second turn: %v", err)
	}
	if err := f.RecordCall(ctx, lease, "t1", []byte(`{"a":1}`), "let me"); err != nil {
		t.Fatal(err)
	}
	if err := f.RecordCall(ctx, lease, "t1", []byte(`{"b":2}`), ""); err != nil {
		t.Fatal(err)
	}
	same(t, f.states(t, "c"), `ask_t1 let_me_running_[{"a":1},{"b":2}]`)
	f.pass(5 * time.Second)
	if _, err := f.RenewLease(ctx, lease, time.Minute, "let me see"); err != nil {
		t.Fatal(err)
	}
	same(t, f.states(t, "c"), `ask_t1 let_me_see_running_[{"a":1},{"b":2}]`)
	c, _, err := f.Conversation(ctx, "", "c")
	if err != nil || !c.Running || c.Assistant != "general" || c.Messages != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	f.pass(59 * time.Second) // the lease was renewed
	for range 2 {
		f.save(t, lease, "t1", "k", "done")
	}
	same(t, f.states(t, "c"), "ask_t1 done")
	if c, _, err = f.Conversation(ctx, "", "c"); err != nil || c.Running {
		t.Errorf("%+v, %v", c, err)
	}
	if found := f.begin(t, "", "c", "k").Finished; found == nil || found.Answer != "done" || found.TurnID != "t1" {
		t.Errorf("the key finds %+v", found)
	}
	if got := f.look(t, "", ""); got.Messages[1].Assistant != "general" || got.Assistant != "general" || got.Messages[1].Timestamp != f.clock() {
		t.Errorf("%+v", got)
	}
	same(t, f.look(t, "", "t1").Finished == nil, true) // a key of its own was given
}

// A turn is told as what it is, whoever ended it, for as long as its conversation holds it.
func testFoundByID(t *testing.T, f *fixture) {
	ctx := t.Context()
	want := schemas.StoredTurn{TurnID: "t1", ConversationID: "c", Assistant: "general", Question: "ask t1", BeganAt: f.clock()}
	found := func(change func(*schemas.StoredTurn)) {
		t.Helper()
		change(&want)
		got, err := f.Turn(ctx, "ann", "t1")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	lease := f.begin(t, "ann", "c", "").Lease
	_, err := f.Turn(ctx, "", "t1")
	refused(t, err, store.ErrNoTurn)
	f.recordUnder(t, lease, "t1", "")
	found(func(w *schemas.StoredTurn) { w.Status = schemas.StatusRunning })
	f.pass(30 * time.Second)
	if _, err := f.RenewLease(ctx, lease, time.Minute, "let me"); err != nil {
		t.Fatal(err)
	}
	found(func(w *schemas.StoredTurn) { w.Answer = "let me" })
	f.pass(2 * time.Minute) // its process is gone, and nobody has noted it yet
	found(func(w *schemas.StoredTurn) { w.Status = schemas.StatusInterrupted })
	f.record(t, "other", "t2", "")
	found(func(*schemas.StoredTurn) {})
	f.save(t, lease, "t1", "", "whole") // it was only frozen
	found(func(w *schemas.StoredTurn) { w.Status, w.Answer, w.SavedAt = "", "whole", f.clock() })
	_, err = f.Turn(ctx, "bob", "t1")
	refused(t, err, store.ErrNoTurn)
	if err := f.Delete(ctx, "ann", "c"); err != nil {
		t.Fatal(err)
	}
	_, err = f.Turn(ctx, "", "t1")
	refused(t, err, store.ErrNoTurn)
}

// A frozen owner saves late: its turn is finished where it was begun.
func testOvertaken(t *testing.T, f *fixture) {
	ctx := t.Context()
	slow := f.record(t, "c", "slow", "")
	if err := f.RecordCall(ctx, slow, "slow", []byte(`{"a":1}`), "half"); err != nil {
		t.Fatal(err)
	}
	f.pass(2 * time.Minute)
	quick := f.record(t, "c", "quick", "")
	same(t, f.states(t, "c"), `ask_slow half_interrupted_[{"a":1}] ask_quick running`)
	_, err := f.RenewLease(ctx, slow, time.Minute, "more")
	refused(t, err, store.ErrStaleLease)
	refused(t, f.RecordCall(ctx, slow, "slow", []byte(`{}`), ""), store.ErrStaleLease)
	refused(t, f.RecordTurn(ctx, schemas.StartedTurn{Lease: slow, TurnID: "other"}), store.ErrStaleLease)
	_, err = f.SaveTurn(ctx, store.Turn{Lease: slow, TurnID: "never recorded", User: "q", Answer: "a"})
	refused(t, err, store.ErrStaleLease)
	for range 2 {
		f.save(t, slow, "slow", "", "whole")
	}
	same(t, f.states(t, "c"), "ask_slow whole ask_quick running")
	f.save(t, quick, "quick", "", "too")
	same(t, f.states(t, "c"), "ask_slow whole ask_quick too")
	same(t, f.look(t, "", "").Tip, "quick")
	work := f.claim(t, 1)
	if len(work) != 1 || len(work[0].Messages) != 4 {
		t.Errorf("to summarise: %+v", work)
	}
}

// What was begun and left behind becomes interrupted, without another question too, and
// nothing of a cleared or deleted conversation comes back.
func testLeftBehind(t *testing.T, f *fixture) {
	ctx := t.Context()
	gone := f.record(t, "c1", "t1", "")
	f.pass(30 * time.Second)
	f.record(t, "c2", "t2", "")
	f.pass(40 * time.Second)
	f.claim(t, 1)
	same(t, f.states(t, "c1"), "ask_t1 interrupted")
	same(t, f.states(t, "c2"), "ask_t2 running")
	f.save(t, gone, "t1", "", "it lived") // nobody had asked meanwhile
	same(t, f.states(t, "c1"), "ask_t1 it_lived")

	given := f.record(t, "c3", "t3", "")
	for range 2 {
		if err := f.EndTurn(ctx, given); err != nil {
			t.Fatal(err)
		}
	}
	same(t, f.states(t, "c3"), "ask_t3 interrupted")
	for id, erase := range map[string]func(id string) error{
		"c4": func(id string) error { return f.Clear(ctx, "", id) },
		"c5": func(id string) error { return f.Delete(ctx, "", id) },
	} {
		lease := f.record(t, id, "t"+id, "")
		if err := erase(id); err != nil {
			t.Fatal(err)
		}
		_, err := f.SaveTurn(ctx, store.Turn{Lease: lease, TurnID: "t" + id, User: "q", Answer: "a"})
		refused(t, err, store.ErrStaleLease)
		refused(t, f.RecordTurn(ctx, schemas.StartedTurn{Lease: lease, TurnID: "t" + id}), store.ErrStaleLease)
		same(t, f.states(t, id), "")
	}
}

// A request that is repeated under its key after its process died takes the place of the
// question that it left, wherever the key is found.
func testAskedAgain(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.record(t, "c", "t1", "k")
	f.pass(2 * time.Minute)
	f.turn(t, "", "c", "t2", "")
	start, err := f.BeginTurn(ctx, store.TurnRequest{ConversationID: "made-up", AnyConversation: true, Key: "k", TTL: time.Minute})
	if err != nil || start.ConversationID != "c" || start.Finished != nil || start.Lease.ConversationID != "c" {
		t.Fatalf("%+v, %v", start, err)
	}
	f.recordUnder(t, start.Lease, "t3", "k")
	same(t, f.states(t, "c"), "ask_t3 running ask_t2 say_t2")
	f.save(t, start.Lease, "t3", "k", "at last")
	same(t, f.states(t, "c"), "ask_t3 at_last ask_t2 say_t2")
	same(t, f.begin(t, "", "c", "k").Finished.TurnID, "t3")

	// Also when only the answer is written, and not when it is asked on another branch.
	f.record(t, "c", "t4", "k4")
	f.pass(2 * time.Minute)
	f.save(t, f.begin(t, "", "c", "k4").Lease, "t5", "k4", "five")
	same(t, f.states(t, "c"), "ask_t3 at_last ask_t2 say_t2 ask_t5 five")
	f.record(t, "c", "t6", "k6")
	f.pass(2 * time.Minute)
	start, err = f.BeginTurn(ctx, store.TurnRequest{ConversationID: "c", Key: "k6", Parent: new("t3"), TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	f.save(t, start.Lease, "t7", "k6", "seven")
	same(t, f.states(t, "c"), "ask_t3 at_last ask_t7 seven")
	same(t, f.begin(t, "", "c", "k6").Finished.TurnID, "t7")
}

// A turn that an orderly end interrupted is taken over by the retry of its key, which does not see
// it as history. It keeps its place only while nothing follows it.
func testInterruptedAgain(t *testing.T, f *fixture) {
	interrupt := func(turnID, key string) {
		t.Helper()
		lease := f.record(t, "c", turnID, key)
		if _, err := f.SaveTurn(t.Context(), store.Turn{Lease: lease, TurnID: turnID, Key: key, Answer: "half", Status: schemas.StatusInterrupted}); err != nil {
			t.Fatal(err)
		}
	}
	f.turn(t, "", "c", "t0", "")
	interrupt("t1", "k")
	same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t1 half_interrupted")
	for _, turnID := range []string{"t2", "t3"} { // recorded, and only saved
		start := f.begin(t, "", "c", "k")
		if start.Finished != nil || len(start.Messages) != 2 {
			t.Errorf("%+v", start)
		}
		if turnID == "t2" {
			f.recordUnder(t, start.Lease, turnID, "k")
			same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t2 running")
			if _, err := f.SaveTurn(t.Context(), store.Turn{Lease: start.Lease, TurnID: turnID, Key: "k", Answer: "again", Status: schemas.StatusInterrupted}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f.save(t, start.Lease, turnID, "k", "whole")
	}
	same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t3 whole")
	same(t, f.look(t, "", "").Tip, "t3")
	same(t, f.begin(t, "", "c", "k").Finished.TurnID, "t3")

	interrupt("t4", "k4")
	f.turn(t, "", "c", "t5", "")
	f.save(t, f.begin(t, "", "c", "k4").Lease, "t6", "k4", "late")
	same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t3 whole ask_t4 half_interrupted ask_t5 say_t5 ask_t6 late")
	same(t, f.begin(t, "", "c", "k4").Finished.TurnID, "t6")
}

// An interrupted turn keeps what was recorded of its calls, unless it says better.
func testInterruptedCalls(t *testing.T, f *fixture) {
	for i, c := range []struct{ status, calls, want string }{
		{schemas.StatusInterrupted, "", `cut_interrupted_[{"a":1}]`},
		{schemas.StatusInterrupted, `[{"b":2}]`, `cut_interrupted_[{"b":2}]`},
		{"", "", "cut"},
	} {
		id := fmt.Sprint("c", i)
		lease := f.record(t, id, "t"+id, "")
		if err := f.RecordCall(t.Context(), lease, "t"+id, []byte(`{"a":1}`), ""); err != nil {
			t.Fatal(err)
		}
		turn := store.Turn{Lease: lease, TurnID: "t" + id, Answer: "cut", Status: c.status, Calls: []byte(c.calls)}
		if _, err := f.SaveTurn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		same(t, f.states(t, id), "ask_t"+id+" "+c.want)
	}
}

// A turn that was refused after all leaves nothing: not its question, not a conversation
// that it began, and the branch that was the newest is that again.
func testDiscarded(t *testing.T, f *fixture) {
	discard := func(lease schemas.Lease) {
		t.Helper()
		for range 2 { // the answer to the first request was lost
			if err := f.DiscardTurn(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}
	}
	discard(f.begin(t, "", "none", "").Lease) // nothing was recorded
	discard(f.record(t, "new", "t1", "k"))
	for _, id := range []string{"none", "new"} {
		if _, known, err := f.Conversation(t.Context(), "", id); known || err != nil {
			t.Errorf("%s: known %v, %v", id, known, err)
		}
	}
	f.turn(t, "", "c", "a", "")
	f.turn(t, "", "c", "b", "")
	discard(f.record(t, "c", "t2", ""))
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask a", "say a", "ask b", "say b"})
	parent := "a"
	branch, err := f.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", TTL: time.Minute, Parent: &parent})
	if err != nil {
		t.Fatal(err)
	}
	f.recordUnder(t, branch.Lease, "t3", "")
	same(t, f.states(t, "c"), "ask_a say_a ask_t3 running")
	discard(branch.Lease)
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask a", "say a", "ask b", "say b"})
	if c, _, err := f.Conversation(t.Context(), "", "c"); err != nil || c.Messages != 4 || c.Running {
		t.Errorf("%+v, %v", c, err)
	}
	same(t, f.look(t, "", "").Tip, "b")

	// It has the assistant that answered last, in lists too, or none.
	if err := f.AddMessage(t.Context(), "", "by hand", store.Message{Role: schemas.RoleUser, Content: "x"}); err != nil {
		t.Fatal(err)
	}
	first := f.record(t, "c", "t4", "") // by the assistant "general"
	if _, err := f.SaveTurn(t.Context(), store.Turn{Lease: first, TurnID: "t4", Answer: "say t4"}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"c": "general", "by hand": ""} {
		lease := f.begin(t, "", id, "").Lease
		if err := f.RecordTurn(t.Context(), schemas.StartedTurn{Lease: lease, TurnID: "of another in " + id, User: "ask", Assistant: "other"}); err != nil {
			t.Fatal(err)
		}
		discard(lease)
		if c, _, err := f.Conversation(t.Context(), "", id); err != nil || c.Assistant != want {
			t.Errorf("%s is of %q, want %q: %v", id, c.Assistant, want, err)
		}
	}
}

// What a discarded turn leaves between other messages is no gap in any reading of them.
func testDiscardedBetween(t *testing.T, f *fixture) {
	ctx := t.Context()
	discard := func(lease schemas.Lease) {
		t.Helper()
		if err := f.DiscardTurn(ctx, lease); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		same(t, f.texts(t, "", "c", store.MessageRange{}), want)
		same(t, f.texts(t, "", "c", store.MessageRange{Branch: store.Branch{Tree: true}}), want)
		last := want[len(want)-2:]
		same(t, f.texts(t, "", "c", store.MessageRange{Last: 2}), last)
		recent, err := f.Recent(t.Context(), "", "c", 2)
		if err != nil || len(recent) != 2 || recent[0].Content != last[0] || recent[1].Content != last[1] {
			t.Errorf("recent %v, %v", recent, err)
		}
		for _, b := range []store.Branch{{}, {Tree: true}} {
			got := []string{}
			for after := int64(0); ; {
				page, next, err := f.MessagesAfter(t.Context(), "", "c", b, after, 3)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, contents(page)...)
				if after = next; next == 0 {
					break
				}
			}
			same(t, got, want)
		}
	}
	f.turn(t, "", "c", "a", "")
	f.turn(t, "", "c", "b", "")
	discard(f.record(t, "c", "no", ""))
	check("ask a", "say a", "ask b", "say b")
	f.turn(t, "", "c", "d", "")
	check("ask a", "say a", "ask b", "say b", "ask d", "say d")
	// A message was added to it meanwhile.
	lease := f.record(t, "c", "no", "")
	if err := f.AddMessage(ctx, "", "c", store.Message{Role: schemas.RoleSystem, Content: "note"}); err != nil {
		t.Fatal(err)
	}
	discard(lease)
	check("ask a", "say a", "ask b", "say b", "ask d", "say d", "note")
	f.turn(t, "", "c", "e", "")
	check("ask a", "say a", "ask b", "say b", "ask d", "say d", "note", "ask e", "say e")
	// It had taken the place of an older question.
	f.record(t, "c", "old", "k")
	f.pass(2 * time.Minute)
	f.turn(t, "", "c", "g", "")
	lease = f.begin(t, "", "c", "k").Lease
	f.recordUnder(t, lease, "new", "k")
	discard(lease)
	check("ask a", "say a", "ask b", "say b", "ask d", "say d", "note", "ask e", "say e", "ask g", "say g")
	same(t, f.look(t, "", "").Tip, "g")
}

// A saved turn can be deleted under a lease of its own conversation. The conversation ends with the
// turn before it, and stays when none is left.
func testDeletedTurn(t *testing.T, f *fixture) {
	ctx := t.Context()
	remove := func(id, turn string) error { return f.DeleteTurn(ctx, f.begin(t, "", id, "").Lease, turn) }
	f.turn(t, "", "other", "x", "")
	f.turn(t, "", "c", "a", "")
	f.turn(t, "", "c", "b", "")
	if err := remove("other", "b"); !errors.Is(err, store.ErrNoTurn) {
		t.Errorf("a turn of another conversation: %v", err)
	}
	f.pass(2 * time.Minute) // a lease was not released
	old := f.begin(t, "", "c", "").Lease
	f.pass(2 * time.Minute)
	if err := remove("c", "b"); err != nil {
		t.Fatal(err)
	}
	const two = 3 // messages: of more than one turn
	if work, err := f.ClaimSummaries(ctx, 9, two, false, time.Minute); err != nil || len(work) != 0 {
		t.Errorf("the deleted turn waits for its summary: %+v, %v", work, err)
	}
	if err := f.DeleteTurn(ctx, old, "a"); !errors.Is(err, store.ErrStaleLease) {
		t.Errorf("under an old lease: %v", err)
	}
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask a", "say a"})
	same(t, f.look(t, "", "").Tip, "a")
	f.turn(t, "", "c", "d", "")
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask a", "say a", "ask d", "say d"})
	for _, turn := range []string{"d", "a"} {
		if err := remove("c", turn); err != nil {
			t.Fatal(err)
		}
	}
	if c, known, err := f.Conversation(ctx, "", "c"); !known || c.Messages != 0 || c.Title != "" || err != nil {
		t.Errorf("known %v, %+v, %v", known, c, err)
	}
	f.turn(t, "", "c", "e", "")
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask e", "say e"})
}

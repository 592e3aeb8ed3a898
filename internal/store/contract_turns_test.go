package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/schemas"
)

// interrupt begins a turn and saves it as interrupted.
func (f *fixture) interrupt(t *testing.T, id, turnID, key string) schemas.Lease {
	t.Helper()
	lease := f.begin(t, "", id, key).Lease
	f.interruptUnder(t, lease, turnID, key)
	return lease
}

func (f *fixture) interruptUnder(t *testing.T, lease schemas.Lease, turnID, key string) {
	t.Helper()
	turn := store.Turn{
		Lease: lease, TurnID: turnID, Key: key, User: "ask " + turnID, Answer: "half", Assistant: "general", Status: schemas.StatusInterrupted,
	}
	if _, err := f.SaveTurn(t.Context(), turn); err != nil {
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

func testRenewed(t *testing.T, f *fixture) {
	ctx := t.Context()
	lease := f.begin(t, "", "c", "").Lease
	_, err := f.BeginTurn(ctx, store.TurnRequest{ConversationID: "c", TTL: time.Minute})
	busy, ok := errors.AsType[*store.BusyError](err)
	if !ok || busy.Left != time.Minute {
		t.Errorf("a second turn: %v", err)
	}
	f.pass(5 * time.Second)
	if _, err := f.RenewLease(ctx, lease, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.pass(59 * time.Second) // the lease was renewed
	if _, err := f.BeginTurn(ctx, store.TurnRequest{ConversationID: "c", TTL: time.Minute}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("before its end: %v", err)
	}
	for range 2 { // the answer to the first request was lost
		f.save(t, lease, "t1", "k", "done")
	}
	same(t, f.states(t, "c"), "ask_t1 done")
	if found := f.begin(t, "", "c", "k").Finished; found == nil || found.Answer != "done" || found.TurnID != "t1" {
		t.Errorf("the key finds %+v", found)
	}
	same(t, f.look(t, "", "t1").Finished == nil, true) // a key of its own was given
}

// A turn is told as what it is, whoever ended it, for as long as its conversation holds it.
func testFoundByID(t *testing.T, f *fixture) {
	ctx := t.Context()
	want := schemas.StoredTurn{TurnID: "t1", ConversationID: "c", Assistant: "general", Question: "ask t1"}
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
	f.interruptUnder(t, lease, "t1", "") // by a process that took it for dead
	found(func(w *schemas.StoredTurn) {
		w.Status, w.Answer, w.BeganAt, w.SavedAt = schemas.StatusInterrupted, "half", f.clock(), f.clock()
	})
	f.pass(2 * time.Minute)
	f.interrupt(t, "other", "t2", "")
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

// A frozen owner saves late: its turn, which another process saved as interrupted meanwhile, is
// finished where it is. One that nobody saved has lost its lease.
func testOvertaken(t *testing.T, f *fixture) {
	ctx := t.Context()
	slow := f.interrupt(t, "c", "slow", "")
	quick := f.begin(t, "", "c", "").Lease
	same(t, f.states(t, "c"), "ask_slow half_interrupted")
	_, err := f.RenewLease(ctx, slow, time.Minute)
	refused(t, err, store.ErrStaleLease)
	_, err = f.SaveTurn(ctx, store.Turn{Lease: slow, TurnID: "never saved", User: "q", Answer: "a"})
	refused(t, err, store.ErrStaleLease)
	for range 2 {
		f.save(t, slow, "slow", "", "whole")
	}
	f.interruptUnder(t, slow, "slow", "") // the other process again
	same(t, f.states(t, "c"), "ask_slow whole")
	f.save(t, quick, "quick", "", "too")
	same(t, f.states(t, "c"), "ask_slow whole ask_quick too")
	same(t, f.look(t, "", "").Tip, "quick")
	work := f.claim(t, 1)
	if len(work) != 1 || len(work[0].Messages) != 4 {
		t.Errorf("to summarise: %+v", work)
	}
}

// Nothing of a cleared or deleted conversation comes back, and a lease that is given back leaves
// nothing.
func testLeftBehind(t *testing.T, f *fixture) {
	ctx := t.Context()
	given := f.begin(t, "", "c3", "").Lease
	for range 2 {
		if err := f.EndTurn(ctx, given); err != nil {
			t.Fatal(err)
		}
	}
	if _, known, err := f.Conversation(ctx, "", "c3"); known || err != nil {
		t.Errorf("known %v, %v", known, err)
	}
	for id, erase := range map[string]func(id string) error{
		"c4": func(id string) error { return f.Clear(ctx, "", id) },
		"c5": func(id string) error { return f.Delete(ctx, "", id) },
	} {
		f.turn(t, "", id, "before "+id, "")
		lease := f.begin(t, "", id, "").Lease
		if err := erase(id); err != nil {
			t.Fatal(err)
		}
		_, err := f.SaveTurn(ctx, store.Turn{Lease: lease, TurnID: "t" + id, User: "q", Answer: "a"})
		refused(t, err, store.ErrStaleLease)
		same(t, f.states(t, id), "")
	}
}

// A request that is repeated under its key after its process died takes the place of the
// question that it left, wherever the key is found.
func testAskedAgain(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.interrupt(t, "c", "t1", "k")
	start, err := f.BeginTurn(ctx, store.TurnRequest{ConversationID: "made-up", AnyConversation: true, Key: "k", TTL: time.Minute})
	if err != nil || start.ConversationID != "c" || start.Finished != nil || start.Lease.ConversationID != "c" {
		t.Fatalf("%+v, %v", start, err)
	}
	f.save(t, start.Lease, "t3", "k", "at last")
	same(t, f.states(t, "c"), "ask_t3 at_last")
	same(t, f.begin(t, "", "c", "k").Finished.TurnID, "t3")

	// Not when it is asked on another branch.
	f.turn(t, "", "c", "t5", "")
	f.interrupt(t, "c", "t6", "k6")
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
	f.turn(t, "", "c", "t0", "")
	f.interrupt(t, "c", "t1", "k")
	same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t1 half_interrupted")
	for _, turnID := range []string{"t2", "t3"} { // interrupted again, and complete
		start := f.begin(t, "", "c", "k")
		if start.Finished != nil || len(start.Messages) != 2 {
			t.Errorf("%+v", start)
		}
		if turnID == "t2" {
			f.interruptUnder(t, start.Lease, turnID, "k")
			same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t2 half_interrupted")
			continue
		}
		f.save(t, start.Lease, turnID, "k", "whole")
	}
	same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t3 whole")
	same(t, f.look(t, "", "").Tip, "t3")
	same(t, f.begin(t, "", "c", "k").Finished.TurnID, "t3")

	f.interrupt(t, "c", "t4", "k4")
	f.turn(t, "", "c", "t5", "")
	f.save(t, f.begin(t, "", "c", "k4").Lease, "t6", "k4", "late")
	same(t, f.states(t, "c"), "ask_t0 say_t0 ask_t3 whole ask_t4 half_interrupted ask_t5 say_t5 ask_t6 late")
	same(t, f.begin(t, "", "c", "k4").Finished.TurnID, "t6")
}

// A turn that is deleted leaves nothing, and the branch that was the newest is that again. The
// conversation has the assistant that answered last, in lists too, or none.
func testDeletedBranch(t *testing.T, f *fixture) {
	f.turn(t, "", "c", "a", "")
	f.turn(t, "", "c", "b", "")
	parent := "a"
	branch, err := f.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", TTL: time.Minute, Parent: &parent})
	if err != nil {
		t.Fatal(err)
	}
	f.interruptUnder(t, branch.Lease, "t3", "")
	same(t, f.states(t, "c"), "ask_a say_a ask_t3 half_interrupted")
	f.remove(t, "c", "t3")
	same(t, f.texts(t, "", "c", store.MessageRange{}), []string{"ask a", "say a", "ask b", "say b"})
	if c, _, err := f.Conversation(t.Context(), "", "c"); err != nil || c.Messages != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	same(t, f.look(t, "", "").Tip, "b")

	if err := f.AddMessage(t.Context(), "", "by hand", store.Message{Role: schemas.RoleUser, Content: "x"}); err != nil {
		t.Fatal(err)
	}
	f.interrupt(t, "c", "t4", "") // by the assistant "general"
	for id, want := range map[string]string{"c": "general", "by hand": ""} {
		turn := store.Turn{Lease: f.begin(t, "", id, "").Lease, TurnID: "of another in " + id, User: "ask", Answer: "say", Assistant: "other"}
		if _, err := f.SaveTurn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		f.remove(t, id, turn.TurnID)
		if c, _, err := f.Conversation(t.Context(), "", id); err != nil || c.Assistant != want {
			t.Errorf("%s is of %q, want %q: %v", id, c.Assistant, want, err)
		}
	}
}

// remove deletes a turn.
func (f *fixture) remove(t *testing.T, id, turnID string) {
	t.Helper()
	if err := f.DeleteTurn(t.Context(), f.begin(t, "", id, "").Lease, turnID); err != nil {
		t.Fatal(err)
	}
}

// What a deleted turn leaves between other messages is no gap in any reading of them.
func testDeletedBetween(t *testing.T, f *fixture) {
	ctx := t.Context()
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
	f.interrupt(t, "c", "no", "")
	f.remove(t, "c", "no")
	check("ask a", "say a", "ask b", "say b")
	f.turn(t, "", "c", "d", "")
	check("ask a", "say a", "ask b", "say b", "ask d", "say d")
	// A message was added to it meanwhile.
	f.interrupt(t, "c", "no", "")
	if err := f.AddMessage(ctx, "", "c", store.Message{Role: schemas.RoleSystem, Content: "note"}); err != nil {
		t.Fatal(err)
	}
	f.remove(t, "c", "no")
	check("ask a", "say a", "ask b", "say b", "ask d", "say d", "note")
	f.turn(t, "", "c", "e", "")
	check("ask a", "say a", "ask b", "say b", "ask d", "say d", "note", "ask e", "say e")
	// It had taken the place of an older one.
	f.interrupt(t, "c", "old", "k")
	f.interrupt(t, "c", "new", "k")
	f.turn(t, "", "c", "g", "")
	f.remove(t, "c", "new")
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

// What people at the desk write does not change whose conversation it is.
func testDesk(t *testing.T, f *fixture) {
	for _, turn := range []store.Turn{
		{TurnID: "t1", User: "hello", Answer: "hi", Assistant: "general"},
		{TurnID: "t2", Answer: "Saturday is free", Assistant: schemas.Desk},
		{TurnID: "t3", User: "thanks", Answer: "bye", Assistant: "other"},
	} {
		turn.Lease = f.begin(t, "", "c", "").Lease
		if _, err := f.SaveTurn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		want := turn.Assistant
		if want == schemas.Desk {
			want = "general"
		}
		if got := f.look(t, "", "").Assistant; got != want {
			t.Errorf("after %s the assistant is %q, want %q", turn.TurnID, got, want)
		}
	}
	f.remove(t, "c", "t3")
	opening := f.look(t, "", "")
	same(t, opening.Assistant, "general")
	var told []string
	for _, m := range opening.Messages {
		told = append(told, string(m.Role)+" "+m.Assistant+": "+m.Content)
	}
	same(t, strings.Join(told, "\n"), "user : hello\nassistant general: hi\nuser : \nassistant @desk: Saturday is free")
}

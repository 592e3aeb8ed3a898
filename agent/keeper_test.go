package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/journal"
	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

// The question is recorded once the guardrail passes it, and a call that may have an effect
// before it is sent; calls that only read are not recorded.
func TestKeeper_recordsWhatBegins(t *testing.T) {
	b := familyBench(calls("Let me.", "family__get", "{}", "family__put", `{"a":1}`), says("done"))
	yes := true
	b.tools.tools[0].Annotations.ReadOnlyHint = &yes
	b.tools.add("family", "put", `"ok"`)
	stop := b.withJournal(t, family())
	if p := b.play(t, ask("who?")); p.err != nil {
		t.Fatal(p.err)
	}
	stop()
	if len(b.journal.begun) != 1 || !strings.Contains(string(b.journal.begun[0].State), `"user":"who?"`) {
		t.Errorf("recorded %+v", b.journal.begun)
	}
	if len(b.journal.synced) != 1 || len(b.journal.synced[0].Rounds) != 2 || !strings.Contains(b.journal.synced[0].Rounds[0].Body, "family__put") {
		t.Errorf("before the call: %+v", b.journal.synced)
	}
	if !slices.Equal(b.journal.dropped, []string{b.journal.begun[0].ID}) {
		t.Errorf("after the end %q are dropped", b.journal.dropped)
	}
	if rec := b.memory.saved[0]; rec.Assistant != "test" || rec.Subject != "who?" {
		t.Errorf("saved %+v", rec)
	}
}

// A call that may have an effect is not sent unrecorded by a turn that another process may continue:
// that process would send it too. Others send it, as nobody repeats them: a turn also whose
// conversation could not be opened, as it has no journal.
func TestKeeper_sendsNothingUnrecorded(t *testing.T) {
	for name, c := range map[string]struct {
		goesOn   bool
		beginErr error
		sent     int
		fails    error
	}{
		"it may go on":            {goesOn: true, fails: agent.ErrStore},
		"it does not go on":       {sent: 1},
		"it may, without journal": {goesOn: true, beginErr: errors.New("the memory is away"), sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := familyBench(calls("Let me.", "family__put", `{"a":1}`), says("done"))
				b.tools.add("family", "put", `"ok"`)
				stop := b.withJournal(t, family())
				b.memory.beginErr, b.journal.syncErr = c.beginErr, errors.New("frozen for too long")
				turn := ask("who?")
				turn.ID, turn.GoesOn = "t1", c.goesOn
				if c.beginErr != nil {
					turn.ConversationID = "" // a new one is opened while the turn runs
				}
				p := b.play(t, turn)
				stop()
				if !errors.Is(p.err, c.fails) || len(b.tools.called) != c.sent {
					t.Errorf("called %q, error %v", b.tools.called, p.err)
				}
			})
		})
	}
}

// No text of an answer is shown before its question is in the store, whatever the model does.
func TestKeeper_recordsBeforeTheFirstText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(says("at ", "once"))
		defer b.withJournal(t, schemas.Assistant{})()
		b.journal.beginsIn = 700 * time.Millisecond
		began := time.Now()
		for e, err := range b.agent.Run(t.Context(), ask("who?")) {
			if err != nil {
				t.Fatal(err)
			}
			b.journal.mu.Lock()
			recorded := len(b.journal.begun)
			b.journal.mu.Unlock()
			if e.Kind == answer.KindText && recorded == 0 {
				t.Errorf("%q was shown before the question was recorded", e.Text)
			}
		}
		if took := time.Since(began); took != b.journal.beginsIn {
			t.Errorf("the turn took %v: only its first text waits", took)
		}
	})
}

// Files that a person attached to a question are stored with it; resources of servers and images
// by address are not. If a file cannot be stored the person is warned, and the answer is saved
// nevertheless.
func TestKeeper_keepsFiles(t *testing.T) {
	b := newBench(says("nice"))
	b.with(t, schemas.Assistant{})
	turn := ask("what is this?")
	turn.Messages[0].Parts = append(turn.Messages[0].Parts,
		schemas.FilePart("cat.png", "image/png", []byte("CAT")), schemas.FilePart("lost.pdf", "application/pdf", []byte("PDF")),
		schemas.Part{Kind: schemas.PartImage, Text: "https://example.org/elsewhere.png"})
	turn.Attachments = []agent.Attachment{
		{Name: "notes.txt", Text: "hello"},
		{Name: "file:///x", Server: "srv", Text: "not a person's"},
		{Name: "dog.jpg", Text: "[image/jpeg]", Media: []schemas.Part{schemas.FilePart("dog.jpg", "image/jpeg", []byte("DOG"))}},
	}
	p := b.play(t, turn)
	if p.err != nil || !p.done.Saved {
		t.Fatalf("%v, %+v", p.err, p.done)
	}
	want := []string{"0 notes.txt text/plain hello", "1 cat.png image/png CAT", "3 dog.jpg image/jpeg DOG"}
	if diff := cmp.Diff(want, b.memory.files); diff != "" {
		t.Error(diff)
	}
	if len(p.done.Warnings) != 1 || p.done.Warnings[0] != "lost.pdf is not stored with the conversation: no room" {
		t.Errorf("warnings %q", p.done.Warnings)
	}
}

// A refused question leaves nothing: it is not recorded, and its lease is returned. A question
// whose answer strays was not refused, and is stored.
func TestKeeper_refusedLeavesNothing(t *testing.T) {
	b := newBench(says("x"))
	b.model.judge = says("NO")
	stop := b.withJournal(t, schemas.Assistant{Topic: "dental"})
	p := b.play(t, ask(unsure))
	if stop(); !p.done.Refused || len(b.journal.begun) != 0 || b.memory.released != 1 {
		t.Errorf("recorded %v, released %d", b.journal.begun, b.memory.released)
	}
	b = newBench(says(offTopicText))
	b.model.judge = refuses("Football")
	b.prompts = sdiPrompts() // a server's prompt arms the watch
	b.with(t, schemas.Assistant{Topic: "dental"})
	if p := b.play(t, ask("/tag")); p.done.Refused || !p.done.Saved || len(b.memory.saved) != 1 || b.memory.saved[0].User != "/tag" {
		t.Errorf("%q: saved %v", p.text, b.memory.saved)
	}
}

// A running turn renews its lease every five seconds.
func TestKeeper_renews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(_ providers.Request, yield func(providers.Chunk, error) bool) {
			for _, piece := range []string{"one ", "two ", "three"} {
				if !yield(providers.Chunk{Text: piece}, nil) {
					return
				}
				time.Sleep(4 * time.Second)
			}
			yield(providers.Chunk{Finish: providers.FinishStop}, nil)
		}).with(t, schemas.Assistant{})
		if p := b.play(t, ask("count")); p.err != nil || p.text != "one two three" {
			t.Fatal(p.err)
		}
		time.Sleep(time.Minute) // no renewal after the end
		if b.memory.renewed != 2 {
			t.Errorf("renewed %d times", b.memory.renewed)
		}
	})
}

// If another turn of the conversation does not end, the new one fails as busy without a model
// call.
func TestKeeper_busy(t *testing.T) {
	b := newBench(says("x")).with(t, schemas.Assistant{})
	b.memory.beginErr = memory.ErrBusy
	if p := b.play(t, ask("hello")); !errors.Is(p.err, agent.ErrBusy) || len(b.model.requests) != 0 {
		t.Errorf("error %v after %d model calls", p.err, len(b.model.requests))
	}
	if got := b.memory.begun[0].Wait; got != 30*time.Second {
		t.Errorf("waits %v", got)
	}
}

// A turn may follow a turn that is not the newest.
func TestKeeper_parent(t *testing.T) {
	b := newBench(says("x")).with(t, schemas.Assistant{})
	parent := "turn-1"
	turn := ask("hello")
	turn.Parent = &parent
	b.play(t, turn)
	if got := b.memory.begun[0].Parent; got == nil || *got != parent {
		t.Errorf("begun %+v", b.memory.begun[0])
	}
	b.memory.beginErr = memory.ErrNoParent
	if p := b.play(t, turn); !errors.Is(p.err, agent.ErrInvalid) {
		t.Errorf("error %v", p.err)
	}
}

// A turn that waits for its client's tools is saved as interrupted; the one that resumes it stores the
// text before and after them as one answer under the same key.
func TestKeeper_pausedIsKept(t *testing.T) {
	b := newBench(calls("", "clock", "{}"), says("noon"))
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{})
	turn := ask("How late is it?")
	turn.ClientTools = []schemas.ToolInfo{clientTool("clock")}
	if p := b.play(t, turn); p.err != nil || p.done.Saved || len(b.memory.saved) != 1 || b.memory.saved[0].Status != schemas.StatusInterrupted {
		t.Fatalf("%v: saved %+v", p.err, b.memory.saved)
	}
	turn.Results = []schemas.ToolResult{{ID: "call-clock", ToolName: "clock", Output: json.RawMessage(`"noon"`)}}
	if p := b.play(t, turn); p.err != nil || len(b.memory.saved) != 2 || b.memory.saved[1].Key != b.memory.saved[0].Key || b.memory.saved[1].Status != "" {
		t.Errorf("%v: saved %+v", p.err, b.memory.saved)
	}
}

// What a turn has left whose process is gone is saved as interrupted: its question, its files, its
// calls with the results that came, and the text that was shown. A turn that has begun meanwhile does
// not stand in the way.
func TestAgent_Recover(t *testing.T) {
	b := familyBench(calls("Let me.", "family__put", `{"a":1}`), says("one ", "two"))
	b.tools.add("family", "put", `"ok"`)
	stop := b.withJournal(t, family())
	if p := b.play(t, ask("who?")); p.err != nil {
		t.Fatal(p.err)
	}
	stop()
	left, whole := b.journal.begun[0], b.memory.saved[0]
	left.State = bytes.Replace(left.State, []byte("{"), []byte(`{"files":[{"name":"notes.txt","Data":"aGVsbG8="}],`), 1)
	var items []journal.Item
	for _, text := range []string{"Let me.", "one "} {
		items = append(items, journal.Item{Text: text})
		if text == "Let me." {
			items = append(items, journal.Item{Event: &answer.Event{Kind: answer.KindCommentary, Text: text}},
				journal.Item{Event: &answer.Event{Kind: answer.KindToolResult, Result: &whole.Rounds[0].Results[0]}})
		}
	}
	left.Rows, _ = journal.Encode(items, 1)

	after := newBench()
	after.memory.saveErr = func(try int) error {
		if try == 1 {
			return memory.ErrStale
		}
		return nil
	}
	stop = after.withJournal(t, family(), left)
	after.book.Ready(t.Context())
	stop()
	if len(after.memory.saved) != 1 || len(after.memory.files) != 1 || !slices.Equal(after.journal.lost, []string{left.ID}) {
		t.Fatalf("saved %+v, files %q, ended %q", after.memory.saved, after.memory.files, after.journal.lost)
	}
	got := after.memory.saved[0]
	want := memory.Record{
		Lease: got.Lease, Key: whole.Key, TurnID: whole.TurnID, User: "who?", Answer: "one ", Rounds: whole.Rounds[:1], Status: schemas.StatusInterrupted,
		ServersRead: []string{"family"}, Language: whole.Language, Assistant: "test", Subject: "who?",
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(schemas.ToolResult{}, "Duration"), cmpopts.IgnoreFields(schemas.Round{}, "TookMS")); diff != "" {
		t.Error(diff)
	}
}

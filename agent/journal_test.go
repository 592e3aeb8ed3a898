package agent_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/memory"
	"molar/providers"
	"molar/schemas"
)

// The question is recorded once the guardrail passes it, and a call that may have an effect
// before it is sent; calls that only read are not recorded.
func TestJournal_recordsWhatBegins(t *testing.T) {
	b := familyBench(calls("Let me.", "family__get", "{}", "family__put", `{"a":1}`), says("done"))
	yes := true
	b.tools.tools[0].Annotations.ReadOnlyHint = &yes
	b.tools.add("family", "put", `"ok"`)
	b.with(t, family())
	if p := b.play(t, ask("who?")); p.err != nil {
		t.Fatal(p.err)
	}
	if len(b.memory.recorded) != 1 || b.memory.recorded[0].User != "who?" || b.memory.recorded[0].Assistant != "test" {
		t.Errorf("recorded %+v", b.memory.recorded)
	}
	var names []string
	for _, call := range b.memory.calls {
		names = append(names, call.Function.Name)
	}
	if diff := cmp.Diff([]string{"family__put"}, names); diff != "" {
		t.Error(diff)
	}
	if rec := b.memory.saved[0]; rec.Assistant != "test" || rec.Subject != "who?" {
		t.Errorf("saved %+v", rec)
	}
}

// No text of an answer is shown before its question is in the store, whatever the model does.
func TestJournal_recordsBeforeTheFirstText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(says("at ", "once")).with(t, schemas.Assistant{})
		b.memory.recordIn = 700 * time.Millisecond
		began := time.Now()
		for e, err := range b.agent.Run(t.Context(), ask("who?")) {
			if err != nil {
				t.Fatal(err)
			}
			b.memory.mu.Lock()
			recorded := len(b.memory.recorded)
			b.memory.mu.Unlock()
			if e.Kind == answer.KindText && recorded == 0 {
				t.Errorf("%q was shown before the question was recorded", e.Text)
			}
		}
		if took := time.Since(began); took != b.memory.recordIn {
			t.Errorf("the turn took %v: only its first text waits", took)
		}
	})
}

// Files that a person attached to a question are stored with it; resources of servers and images
// by address are not. If a file cannot be stored the person is warned, and the answer is saved
// nevertheless.
func TestJournal_keepsFiles(t *testing.T) {
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
func TestJournal_refusedLeavesNothing(t *testing.T) {
	b := newBench(says("x"))
	b.model.judge = says("NO")
	b.with(t, schemas.Assistant{Topic: "dental"})
	if p := b.play(t, ask(unsure)); !p.done.Refused || len(b.memory.recorded) != 0 || b.memory.discarded != 1 {
		t.Errorf("recorded %v, discarded %d", b.memory.recorded, b.memory.discarded)
	}
	b = newBench(says(offTopicText))
	b.model.judge = refuses("Football")
	b.prompts = sdiPrompts() // a server's prompt arms the watch
	b.with(t, schemas.Assistant{Topic: "dental"})
	if p := b.play(t, ask("/tag")); p.done.Refused || !p.done.Saved || len(b.memory.saved) != 1 || b.memory.saved[0].User != "/tag" || b.memory.discarded != 0 {
		t.Errorf("%q: saved %v, discarded %d", p.text, b.memory.saved, b.memory.discarded)
	}
}

// A running turn renews its lease every five seconds, with the text so far.
func TestJournal_renews(t *testing.T) {
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
		if diff := cmp.Diff([]string{"one two ", "one two three"}, b.memory.renewed); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Minute) // no renewal after the end
		if len(b.memory.renewed) != 2 {
			t.Errorf("renewed %d times", len(b.memory.renewed))
		}
	})
}

// If another turn of the conversation does not end, the new one fails as busy without a model
// call.
func TestJournal_busy(t *testing.T) {
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
func TestJournal_parent(t *testing.T) {
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

// The text before and after the client's tools is stored as one answer under one key.
func TestJournal_pausedIsKept(t *testing.T) {
	b := newBench(calls("", "clock", "{}"), says("noon"))
	b.pauses = fakePauses{}
	b.with(t, schemas.Assistant{})
	turn := ask("How late is it?")
	turn.ClientTools = []schemas.ToolInfo{clientTool("clock")}
	if p := b.play(t, turn); p.err != nil || b.memory.released != 1 || b.memory.discarded != 0 {
		t.Fatalf("%v: released %d, discarded %d", p.err, b.memory.released, b.memory.discarded)
	}
	turn.Results = []schemas.ToolResult{{ID: "call-clock", ToolName: "clock", Output: json.RawMessage(`"noon"`)}}
	if p := b.play(t, turn); p.err != nil || len(b.memory.saved) != 1 || b.memory.saved[0].Key != b.memory.recorded[1].Key {
		t.Errorf("%v: saved %+v, recorded %+v", p.err, b.memory.saved, b.memory.recorded)
	}
}

package crash

import (
	"slices"
	"strings"
	"testing"
)

// wholeTurns returns the messages of whole turns.
func wholeTurns(ids ...string) (messages []message) {
	for _, id := range ids {
		messages = append(messages, message{Role: "user", Content: "ask " + id}, message{Role: "assistant", Content: "say " + id})
	}
	return messages
}

// interruptedTurn returns the messages of an interrupted turn.
func interruptedTurn(id string) []message {
	return []message{{Role: "user", Content: "ask " + id}, {Role: "assistant", Status: "interrupted"}}
}

// A question that was reported recorded must stay, whatever happened to its turn.
func TestWriter_judge_recorded(t *testing.T) {
	for name, c := range map[string]struct {
		messages []message
		faults   int
	}{"whole": {wholeTurns("a"), 0}, "interrupted": {interruptedTurn("a"), 0}, "lost": {nil, 1}} {
		w := &writer{conversation: "w", turns: []*turn{{id: "a", state: abandoned, recorded: true}}}
		if w.judge(c.messages); len(w.faults) != c.faults {
			t.Errorf("%s: faults %q", name, w.faults)
		}
	}
}

func TestWriter_judge(t *testing.T) {
	history := []*turn{{id: "a", state: promised}, {id: "b", state: abandoned}, {id: "c", state: promised}}
	for name, c := range map[string]struct {
		messages []message
		want     string // a part of the one fault; empty means no fault
	}{
		"all there":                {wholeTurns("a", "b", "c"), ""},
		"an abandoned one missing": {wholeTurns("a", "c"), ""},
		"a promised one missing":   {wholeTurns("a", "b"), "c was reported saved and is missing"},
		"one twice":                {wholeTurns("a", "b", "b", "c"), "out of place"},
		"the last one twice":       {wholeTurns("a", "c", "c"), `"ask c" is there twice`},
		"half a turn":              {append(wholeTurns("a"), append(wholeTurns("b")[:1], wholeTurns("c")...)...), "out of place"},
		"out of order":             {wholeTurns("c", "a"), "out of place"},
		"a stranger's":             {append(wholeTurns("a", "c"), message{Role: "user", Content: "ask x"}), `"ask x"`},
		"nothing at all":           {nil, "a was reported saved and is missing"},
		"an abandoned one begun":   {slices.Concat(wholeTurns("a"), interruptedTurn("b"), wholeTurns("c")), ""},
		"a promised one begun":     {slices.Concat(wholeTurns("a", "b"), interruptedTurn("c")), "c was reported saved and is missing"},
		"begun and whole":          {slices.Concat(wholeTurns("a"), interruptedTurn("b"), wholeTurns("b", "c")), "out of place"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{conversation: "w"}
			for _, h := range history {
				copied := *h
				w.turns = append(w.turns, &copied)
			}
			w.judge(c.messages)
			faults := strings.Join(w.faults, "\n")
			if (c.want == "") != (faults == "") || !strings.Contains(faults, c.want) {
				t.Errorf("faults %q, want %q", faults, c.want)
			}
		})
	}
}

// A turn that was read once must stay, even if it was never reported saved.
func TestWriter_judge_twice(t *testing.T) {
	w := &writer{conversation: "w", turns: []*turn{{id: "a", state: abandoned}}}
	w.judge(wholeTurns("a"))
	w.judge(nil)
	if len(w.faults) != 1 {
		t.Errorf("faults %q", w.faults)
	}
}

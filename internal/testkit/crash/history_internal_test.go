package crash

import (
	"strings"
	"testing"
)

// said makes the messages of whole turns.
func said(ids ...string) (messages []message) {
	for _, id := range ids {
		messages = append(messages, message{"user", "ask " + id}, message{"assistant", "say " + id})
	}
	return messages
}

func TestWriter_judge(t *testing.T) {
	history := []*turn{{id: "a", state: promised}, {id: "b", state: abandoned}, {id: "c", state: promised}}
	for name, c := range map[string]struct {
		messages []message
		want     string // a part of the one fault; empty means none
	}{
		"all there":                {said("a", "b", "c"), ""},
		"an abandoned one missing": {said("a", "c"), ""},
		"a promised one missing":   {said("a", "b"), "c was reported saved and is missing"},
		"one twice":                {said("a", "b", "b", "c"), "out of place"},
		"the last one twice":       {said("a", "c", "c"), `"ask c" is there twice`},
		"half a turn":              {append(said("a"), append(said("b")[:1], said("c")...)...), "out of place"},
		"out of order":             {said("c", "a"), "out of place"},
		"a stranger's":             {append(said("a", "c"), message{"user", "ask x"}), `"ask x"`},
		"nothing at all":           {nil, "a was reported saved and is missing"},
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

// What was read once must stay, even if nobody was told of it.
func TestWriter_judge_twice(t *testing.T) {
	w := &writer{conversation: "w", turns: []*turn{{id: "a", state: abandoned}}}
	w.judge(said("a"))
	w.judge(nil)
	if len(w.faults) != 1 {
		t.Errorf("faults %q", w.faults)
	}
}

package _test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
)

// found is the tool's result: its id must be sent back unchanged.
const found = `{"id":"P-00471-ñ/8","name":"Lan"}`

const findArgs = `{"name":"Lan"}`

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// The requests of the second and third turn contain the earlier messages verbatim, including
// calls, results and private state: whether or not the summary is written, in the same process or
// after a restart.
func TestWire_nextTurns(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		for _, between := range []struct {
			name               string
			summarise, restart bool
		}{{"at once", false, false}, {"summarised", true, false}, {"restarted", false, true}, {"both", true, true}} {
			t.Run(between.name, func(t *testing.T) {
				c := newTalk(t, w, newDesk(2, found), agent.Limits{})
				pass := func() {
					if between.summarise {
						c.summarise(t, "The summary.")
					}
					if between.restart {
						c.restart(t)
					}
				}
				first := c.ask(t, "Who are you?", says("I am ", "the desk."))
				same(t, "first turn", c.model.messages(t, first[0]), w.user("Who are you?"))
				pass()
				second := c.ask(t, "Where is Lan?", calls("desk__find_1", findArgs), says("Lan is in ", "the hall."))
				before := []string{w.user("Who are you?"), w.said("I am the desk.")}
				same(t, "second turn", c.model.messages(t, second[0]), append(before, w.user("Where is Lan?"))...)
				call, result := w.called("1", "desk__find_1", findArgs, found), w.returned("1", "desk__find_1", findArgs, found)
				same(t, "its second round", c.model.messages(t, second[1]), append(before, w.user("Where is Lan?"), call, result)...)
				pass()
				third := c.ask(t, "Which number is that?", says("P-00471."))
				same(t, "third turn", c.model.messages(t, third[0]), append(before,
					w.user("Where is Lan?"), call, result, w.said("Lan is in the hall."), w.user("Which number is that?"))...)
			})
		}
	})
}

package event_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/event"
)

// Text that was followed by a call is not part of the answer, nor is the blank line behind it.
func TestCollector(t *testing.T) {
	var c event.Collector
	for _, e := range []event.Event{
		{Kind: event.KindStart, Start: &event.Start{TurnID: "t"}},
		{Kind: event.KindThinking, Text: "Hm."},
		{Kind: event.KindText, Text: "Let me "},
		{Kind: event.KindText, Text: "look."},
		{Kind: event.KindCommentary, Text: "Let me look."},
		{Kind: event.KindWarning, Text: "slow"},
		{Kind: event.KindText, Text: "\n\nIt is "},
		{Kind: event.KindText, Text: "so."},
		{Kind: event.KindDone, Done: &event.Done{Saved: true}},
	} {
		c.Add(e)
	}
	if c.Answer() != "It is so." || c.Thinking() != "Hm." || c.Start.TurnID != "t" || !c.Done.Saved {
		t.Errorf("answer %q, thinking %q, start %+v, done %+v", c.Answer(), c.Thinking(), c.Start, c.Done)
	}
	if diff := cmp.Diff([][]string{{"Let me look."}, {"slow"}}, [][]string{c.Commentary, c.Warnings}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

package answer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/answer"
)

// Text before a call is not part of the answer, nor is the blank line after it.
func TestCollector(t *testing.T) {
	var c answer.Collector
	for _, e := range []answer.Event{
		{Kind: answer.KindStart, Start: &answer.Start{TurnID: "t"}},
		{Kind: answer.KindThinking, Text: "Hm."},
		{Kind: answer.KindText, Text: "Let me "},
		{Kind: answer.KindText, Text: "look."},
		{Kind: answer.KindCommentary, Text: "Let me look."},
		{Kind: answer.KindWarning, Text: "slow"},
		{Kind: answer.KindText, Text: "\n\nIt is "},
		{Kind: answer.KindText, Text: "so."},
		{Kind: answer.KindDone, Done: &answer.Done{Saved: true}},
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

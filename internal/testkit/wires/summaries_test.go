package _test

import (
	"fmt"
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// No summary is written that nobody reads: an assistant that is summarised before a compaction needs none
// while the conversation fits. When a compaction is near, all are written, and the compaction uses them.
func TestSummaries_beforeACompaction(t *testing.T) {
	long := strings.Repeat(" It goes on.", 30)
	onEachWire(t, func(t *testing.T, w wire) {
		w.summarize = schemas.SummarizeCompaction
		// An exchange has about 430 bytes: three are three quarters of 500 tokens, and five exceed them.
		c := newTalk(t, w, newDesk(1, found), agent.Limits{ContextTokens: 500})
		written, last := make([]int, 6), ""
		for i := range written {
			last = c.ask(t, fmt.Sprintf("What is thing %d?", i), says(fmt.Sprintf("Thing %d is here.%s", i, long)))[0]
			before := len(c.model.sent())
			c.summarise(t, fmt.Sprintf("They spoke of thing %d.", i))
			written[i] = len(c.model.sent()) - before
		}
		if got := fmt.Sprint(written); got != "[0 0 0 4 1 1]" {
			t.Errorf("after each turn so many summaries were written: %s", got)
		}
		if strings.Count(last, "They spoke of thing 3.") != 3 {
			t.Errorf("the compaction does not use them: %s", last)
		}
	})
}

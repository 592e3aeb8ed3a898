package _test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// node is a turn in the test's own tree.
type node struct {
	before   *node
	id       string
	question string
	answer   string
}

// branch returns the turns up to this one, oldest first.
func (n *node) branch() []*node {
	if n == nil {
		return nil
	}
	return append(n.before.branch(), n)
}

// tree runs turns, and computes their expected results.
type tree struct {
	*talk
	turns []*node
	tip   *node
}

func newTree(t *testing.T, w wire, limits agent.Limits) *tree {
	t.Helper()
	tr := &tree{talk: newTalk(t, w, desk{}, limits)}
	tr.model.setAnswer(func(b string) reply { // for a summary as for a turn
		q := newest(`thing \d+`, b)
		return says("Of "+q+".", " More of "+q+".")
	})
	return tr
}

// parent chooses the newest branch, an older turn, or a new beginning.
func (tr *tree) parent(chance *rand.Rand) (*node, *string) {
	switch n := chance.IntN(10); {
	case n < 5 || len(tr.turns) == 0:
		return tr.tip, nil
	case n == 5:
		return nil, new("")
	}
	n := tr.turns[chance.IntN(len(tr.turns))]
	return n, &n.id
}

// step runs one turn, whole or stopped after its first text, and returns its body.
func (tr *tree) step(t *testing.T, i int, chance *rand.Rand) (*node, string) {
	t.Helper()
	before, parent := tr.parent(chance)
	n := &node{before: before, id: uuid.NewString(), question: fmt.Sprintf("What of thing %d?", i)}
	asked := turn(n.question)
	asked.ID, asked.Parent = n.id, parent
	stops, calls := chance.IntN(6) == 0, len(tr.model.sent())
	for event, err := range tr.agent.Run(t.Context(), asked) {
		must(t, err)
		if event.Kind == answer.KindText {
			n.answer += event.Text
			if stops {
				break
			}
		}
	}
	tr.turns, tr.tip = append(tr.turns, n), n
	sent := tr.model.sent()[calls:]
	if len(sent) != 1 {
		t.Fatalf("step %d: %d model calls", i, len(sent))
	}
	return n, sent[0]
}

// disturb sometimes restarts the host, or writes the summaries.
func (tr *tree) disturb(t *testing.T, chance *rand.Rand) {
	t.Helper()
	switch chance.IntN(20) {
	case 0:
		tr.restart(t)
	case 1, 2:
		must(t, tr.worker.Drain(t.Context()))
	}
}

// treeSteps returns the number of turns of a tree: 200, and with -short 40.
func treeSteps() int {
	if testing.Short() {
		return 40
	}
	return 200
}

// After any of 200 random edits and continuations of older turns, with stopped answers, summaries
// and restarts between them, the model is shown the branch of its turn and nothing else, and the
// store returns the same.
func TestTree_shownIsTheBranch(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		tr, chance := newTree(t, w, agent.Limits{}), rand.New(rand.NewPCG(3, 5))
		for i := range treeSteps() {
			tr.disturb(t, chance)
			n, b := tr.step(t, i, chance)
			var want, kept []string
			for _, x := range n.before.branch() {
				want = append(want, w.user(x.question), w.replayed(x.answer))
			}
			same(t, fmt.Sprint("step ", i), tr.model.messages(t, b), append(want, w.user(n.question))...)
			for _, x := range n.branch() {
				kept = append(kept, "user: "+x.question, "assistant: "+x.answer)
			}
			got := tr.stored(t)
			for j, line := range got {
				got[j] = strings.TrimSuffix(line, " ["+schemas.StatusInterrupted+"]")
			}
			same(t, fmt.Sprint("stored after step ", i), got, kept...)
			if t.Failed() {
				return
			}
		}
	})
}

// In a small window, where branches are compacted, the model is shown only the turns of its own
// branch, verbatim or in the summary, and the newest of them verbatim.
func TestTree_smallWindow(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		tr, chance := newTree(t, w, agent.Limits{ContextTokens: 150}), rand.New(rand.NewPCG(7, 11))
		summarised := 0
		for i := range treeSteps() {
			tr.disturb(t, chance)
			n, b := tr.step(t, i, chance)
			shown := tr.model.messages(t, b)
			whole, own := strings.Join(shown, "\n"), n.branch()
			if strings.Contains(whole, strings.TrimSpace(heading)) {
				summarised++
			}
			for _, q := range regexp.MustCompile(`thing \d+`).FindAllString(whole, -1) {
				if !slices.ContainsFunc(own, func(x *node) bool { return strings.Contains(x.question, q+"?") }) {
					t.Fatalf("step %d is shown %s, which is not of its branch:\n%s", i, q, whole)
				}
			}
			if x := n.before; x != nil && !slices.Equal(shown[len(shown)-2:], []string{w.replayed(x.answer), w.user(n.question)}) {
				t.Fatalf("step %d is not shown %q last:\n%s", i, x.answer, whole)
			}
		}
		if summarised < treeSteps()/10 {
			t.Errorf("only %d of %d prompts had a summary", summarised, treeSteps())
		}
	})
}

// replayed returns an answer as it is sent again: a stopped one is marked, and has no signature.
func (w wire) replayed(answer string) string {
	if strings.Contains(answer, "More") {
		return w.said(answer)
	}
	answer = strings.TrimRight(answer, "\n") + "\n\n(The answer was cut off here.)"
	return strings.ReplaceAll(w.said(answer), `,{"text":"","thoughtSignature":"`+signedText+`"}`, "")
}

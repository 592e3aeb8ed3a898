package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

// tree is what a conversation should hold.
type tree struct {
	messages []*node
	head     *node
	// tip is the last turn of the newest branch.
	tip string
	// late are the leases of turns that were overtaken.
	late map[string]schemas.Lease
}

type node struct {
	before            *node
	turn, text, piece string
	answered          bool
	condensed         string
}

// branch are the messages up to one, oldest first.
func (n *node) branch() []*node {
	if n == nil {
		return nil
	}
	return append(n.before.branch(), n)
}

func texts(nodes []*node) []string {
	all := []string{}
	for _, n := range nodes {
		all = append(all, n.text)
	}
	return all
}

// summary is what stands for a branch: the nearest condensed text and the pieces after it.
func summary(nodes []*node) string {
	var all []string
	for _, n := range nodes {
		switch {
		case n.condensed != "":
			all = []string{n.condensed}
		case n.piece != "":
			all = append(all, n.piece)
		}
	}
	return strings.Join(all, "\n\n")
}

func (tr *tree) add(before *node, turn, text string) *node {
	n := &node{before: before, turn: turn, text: text}
	tr.messages = append(tr.messages, n)
	return n
}

// answer is the answer of a turn.
func (tr *tree) answer(turn string) (n *node) {
	for _, m := range tr.messages {
		if m.turn == turn {
			n = m
		}
	}
	return n
}

// stepsVariable names how many random steps the trees have together; without it there is one
// tree.
const stepsVariable = "MOLAR_BRANCH_STEPS"

// treeSteps is how many of them one tree has.
const treeSteps = 200

// trees is how many trees are grown.
func trees(t *testing.T) int {
	t.Helper()
	text := os.Getenv(stepsVariable)
	if text == "" {
		return 1
	}
	steps, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", stepsVariable, err)
	}
	return steps / treeSteps
}

// testTree edits and continues older turns at random, and holds each branch against what it
// should be.
func testTree(t *testing.T, f *fixture, seed int) {
	chance := rand.New(rand.NewPCG(uint64(seed), 2))
	tr := &tree{late: map[string]schemas.Lease{}}
	var turns []string
	for i := range treeSteps {
		f.pass(time.Second)
		switch n := chance.IntN(10); {
		case n == 0:
			text := fmt.Sprint("note ", i)
			if err := f.AddMessage(t.Context(), "", "c", store.Message{Role: schemas.RoleSystem, Content: text}); err != nil {
				t.Fatal(err)
			}
			tr.head = tr.add(tr.head, "", text)
		case n < 3:
			f.summarise(t, tr, chance)
		case n == 3 && len(tr.late) > 0:
			f.saveLate(t, tr)
		default:
			turn := fmt.Sprint("t", i)
			if f.ask(t, tr, turn, anyParent(chance, turns), chance) {
				turns = append(turns, turn)
			}
		}
		f.compare(t, tr, turns, chance)
		if t.Failed() {
			t.Fatalf("after step %d of tree %d", i, seed)
		}
	}
	if err := f.Delete(t.Context(), "", "c"); err != nil {
		t.Fatal(err)
	}
	same(t, f.texts(t, "", "c", store.MessageRange{Branch: store.Branch{Tree: true}}), []string{})
}

// anyParent is the newest branch, most often, or an older turn, or a new beginning.
func anyParent(chance *rand.Rand, turns []string) *string {
	switch n := chance.IntN(10); {
	case n < 5 || len(turns) == 0:
		return nil
	case n == 5:
		return new("")
	}
	return new(turns[chance.IntN(len(turns))])
}

// ask begins a turn, and saves it, whole or interrupted, recorded before or not; or leaves it
// behind, or discards it; it reports whether the turn is kept.
func (f *fixture) ask(t *testing.T, tr *tree, turn string, parent *string, chance *rand.Rand) (kept bool) {
	t.Helper()
	start, err := f.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", Parent: parent, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	before := tr.head
	if parent != nil && *parent != tr.tip || parent != nil && *parent == "" {
		before = tr.answer(*parent)
		if *parent == "" {
			before = nil
		}
	}
	same(t, contents(start.Messages), texts(before.branch()))
	same(t, start.Summary, summary(before.branch()))
	if chance.IntN(8) == 0 { // refused after all
		if err := f.EndTurn(t.Context(), start.Lease); err != nil {
			t.Fatal(err)
		}
		return false
	}
	ask, answer := tr.add(before, turn, "ask "+turn), "say "+turn
	tr.head, tr.tip = tr.add(ask, turn, answer), turn
	saved := store.Turn{Lease: start.Lease, TurnID: turn, User: "ask " + turn, Answer: answer}
	switch chance.IntN(5) {
	case 0: // its process was taken for dead
		tr.late[turn], tr.head.text = start.Lease, "half"
		saved.Status, saved.Answer = schemas.StatusInterrupted, "half"
	case 1:
		saved.Status = schemas.StatusInterrupted
	}
	tr.head.answered = saved.Status == ""
	if _, err := f.SaveTurn(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	return true
}

// saveLate finishes a turn that was left behind: it is where it was.
func (f *fixture) saveLate(t *testing.T, tr *tree) {
	t.Helper()
	for turn, lease := range tr.late {
		f.save(t, lease, turn, "", "late "+turn)
		n := tr.answer(turn)
		n.text, n.answered = "late "+turn, true
		delete(tr.late, turn)
		return
	}
}

// summarise writes the summaries of a claimed branch, and sometimes condenses it.
func (f *fixture) summarise(t *testing.T, tr *tree, chance *rand.Rand) {
	t.Helper()
	for _, w := range f.claim(t, 1) {
		for _, m := range w.Messages {
			if m.Role != schemas.RoleAssistant {
				continue
			}
			n := tr.messages[m.Seq-1]
			if !n.answered || n.piece != "" || n.text != m.Content {
				t.Errorf("%q is to be summarised", m.Content)
			}
			p := schemas.Piece{Seq: m.Seq, Text: "piece " + n.turn}
			if n.piece = p.Text; chance.IntN(4) == 0 {
				p.Condensed = "all up to " + n.turn
				n.condensed = p.Condensed
			}
			if err := f.AddPiece(t.Context(), "", "c", p); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compare reads the conversation in every way.
func (f *fixture) compare(t *testing.T, tr *tree, turns []string, chance *rand.Rand) {
	t.Helper()
	ctx := t.Context()
	newest := texts(tr.head.branch())
	same(t, f.texts(t, "", "c", store.MessageRange{}), newest)
	last := min(5, len(newest))
	same(t, f.texts(t, "", "c", store.MessageRange{Last: 5}), newest[len(newest)-last:])
	same(t, f.texts(t, "", "c", store.MessageRange{SkipLast: last}), newest[:len(newest)-last])
	same(t, f.texts(t, "", "c", store.MessageRange{Branch: store.Branch{Tree: true}}), texts(tr.messages))
	s, err := f.Summary(ctx, "", "c")
	if err != nil || s.Text != summary(tr.head.branch()) {
		t.Errorf("summary %q, want %q, %v", s.Text, summary(tr.head.branch()), err)
	}
	if len(turns) == 0 {
		return
	}
	turn := turns[chance.IntN(len(turns))]
	want := texts(tr.answer(turn).branch())
	if turn == tr.tip {
		want = newest
	}
	got := []string{}
	for after := int64(0); ; {
		page, next, err := f.MessagesAfter(ctx, "", "c", store.Branch{Tip: turn}, after, 3)
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

// A part of a long conversation is read when a turn begins, on whatever branch.
func testPartial(t *testing.T, f *fixture) {
	long := strings.Repeat("x", 1000)
	save := func(turn string, parent *string) {
		t.Helper()
		start, err := f.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", Parent: parent, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		f.save(t, start.Lease, turn, "", long)
	}
	for i := range 10 {
		save(fmt.Sprint("t", i), nil)
	}
	check := func(parent *string, most int, partial bool, first string, n int) {
		t.Helper()
		start, err := f.BeginTurn(t.Context(), store.TurnRequest{ConversationID: "c", Parent: parent, TTL: time.Minute, Most: most})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.EndTurn(t.Context(), start.Lease); err != nil {
			t.Fatal(err)
		}
		if start.Partial != partial || len(start.Messages) != n || start.Messages[0].Content != first {
			t.Errorf("partial %v, %d messages from %q, want %v, %d from %q", start.Partial, len(start.Messages), start.Messages[0].Content, partial, n, first)
		}
	}
	check(nil, 0, false, "ask t0", 20)
	check(nil, 1<<20, false, "ask t0", 20)
	check(nil, 1, true, "ask t9", 2)
	check(nil, 5000, true, "ask t7", 6)
	check(new("t4"), 3000, true, "ask t3", 4)
	save("b9", new("t8"))
	check(nil, 0, false, "ask t0", 20)
	check(nil, 1, true, "ask b9", 2)
	check(nil, 5000, true, "ask t7", 6)
	check(new("t9"), 5000, true, "ask t7", 6)
	check(new("t4"), 3000, true, "ask t3", 4)
}

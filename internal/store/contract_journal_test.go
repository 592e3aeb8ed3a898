package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/store"
	"molar/schemas"
)

// The walk plays the table of docs/turns.md: two processes run the turns of one conversation, are
// killed, frozen and restarted, take each other's turns over, and clients send their keys again. A
// model says what each step must do.

// A walkTurn is a turn as the model knows it.
type walkTurn struct {
	id, key string
	// holder is the process that the journal belongs to, empty if it was left; beat is its last sign of life.
	holder string
	beat   time.Time
	goesOn bool
	// attempt counts the processes that ran it.
	attempt int
	// closed: the journal has ended; done: a complete answer was reported saved; kept: it is in the
	// conversation.
	closed, done, kept bool
	// replaced: the retry of its key has taken its place; told: its client was told that it is not saved.
	replaced, told bool
	rows           int
	lease          schemas.Lease // the last one
}

// A walker is a process: what it believes to run, with its leases.
type walker struct {
	name   string
	leases map[*walkTurn]schemas.Lease
}

type walk struct {
	*fixture
	db      *store.DB
	chance  *rand.Rand
	turns   []*walkTurn
	order   []*walkTurn // of those that are kept
	members [2]*walker
	names   int
	steps   []string
}

func testJournalWalk(t *testing.T, f *fixture) {
	db, ok := f.Store.(*store.DB)
	if !ok {
		t.Fatalf("the store is a %T", f.Store)
	}
	walks, steps := 8, 120
	if testing.Short() {
		walks = 3
	}
	for seed := range walks {
		w := &walk{fixture: f, db: db, chance: rand.New(rand.NewPCG(uint64(seed), 1))}
		for i := range w.members {
			w.restart(i)
		}
		id := fmt.Sprint("walk-", seed)
		for range steps {
			w.step(t, id)
		}
		w.settle(t, id)
		if t.Failed() {
			t.Fatalf("walk %d: %s", seed, strings.Join(w.steps, ", "))
		}
	}
}

func (w *walk) note(format string, args ...any) {
	w.steps = append(w.steps, fmt.Sprintf(format, args...))
}

// restart replaces a process that is gone by another one.
func (w *walk) restart(i int) {
	w.names++
	w.members[i] = &walker{name: fmt.Sprint("p", w.names), leases: map[*walkTurn]schemas.Lease{}}
}

func (w *walk) step(t *testing.T, id string) {
	t.Helper()
	m := w.members[w.chance.IntN(2)]
	switch w.chance.IntN(12) {
	case 0, 1, 2:
		w.ask(t, m, id)
	case 3, 4:
		w.say(t, m)
	case 5:
		w.beat(t, m)
	case 6:
		for _, alive := range w.members {
			if w.chance.IntN(4) > 0 { // else it is frozen
				w.beat(t, alive)
			}
		}
		w.pass(time.Duration(1+w.chance.IntN(9)) * time.Second)
	case 7:
		w.take(t, m, id)
	case 8, 9:
		w.finish(t, m)
	case 10:
		w.leave(t, m)
	case 11:
		if w.chance.IntN(3) == 0 {
			w.note("kill %s", m.name)
			w.restart(slices.Index(w.members[:], m))
		}
	}
}

// ask begins a turn, or sends the key of an interrupted one again.
func (w *walk) ask(t *testing.T, m *walker, id string) {
	t.Helper()
	turn := &walkTurn{id: fmt.Sprintf("%s-t%d", id, len(w.turns)), holder: m.name, goesOn: w.chance.IntN(2) == 0, attempt: 1}
	turn.key = "key " + turn.id
	var before *walkTurn
	if n := len(w.turns); n > 0 && w.turns[n-1].kept && !w.turns[n-1].done && w.chance.IntN(2) == 0 {
		before = w.turns[n-1]
		turn.key = before.key
	}
	start, err := w.BeginTurn(t.Context(), store.TurnRequest{ConversationID: id, Key: turn.key, TTL: 15 * time.Second})
	if errors.Is(err, store.ErrBusy) {
		return
	}
	if err != nil || start.Finished != nil {
		t.Errorf("ask: %v, %+v", err, start.Finished)
		return
	}
	if w.chance.IntN(6) == 0 {
		w.note("refuse")
		if err := w.EndTurn(t.Context(), start.Lease); err != nil {
			t.Error(err)
		}
		return
	}
	w.note("%s asks %s after %v", m.name, turn.id, before != nil)
	turn.beat = w.clock()
	j := schemas.JournalTurn{ID: turn.id, ConversationID: id, Shared: true, GoesOn: turn.goesOn, State: []byte(`"s"`)}
	if err := w.db.Journal(m.name).Begin(t.Context(), j); err != nil {
		t.Error(err)
	}
	m.leases[turn], turn.lease = start.Lease, start.Lease
	w.turns = append(w.turns, turn)
}

// believed returns a turn that the process believes to run.
func (w *walk) believed(m *walker) *walkTurn {
	for _, turn := range w.turns {
		if _, runs := m.leases[turn]; runs {
			return turn
		}
	}
	return nil
}

// say writes text; only the holder may.
func (w *walk) say(t *testing.T, m *walker) {
	t.Helper()
	turn := w.believed(m)
	if turn == nil {
		return
	}
	mine := turn.holder == m.name && !turn.closed
	n := turn.rows + 1
	held, err := w.db.Journal(m.name).Write(t.Context(), w.chance.IntN(2) == 0, []schemas.JournalNews{
		{TurnID: turn.id, Rows: []schemas.JournalRow{{First: n, Last: n, Body: `["x"]`}}},
	})
	if _, held := held[turn.id]; err != nil || held != mine {
		t.Errorf("%s says a word of %s: held %v, want %v; %v", m.name, turn.id, held, mine, err)
	}
	w.note("%s says a word of %s: %v", m.name, turn.id, mine)
	if mine {
		turn.rows, turn.beat = n, w.clock()
	} else {
		delete(m.leases, turn) // it ends the turn
	}
}

// beat says that the process is alive.
func (w *walk) beat(t *testing.T, m *walker) {
	t.Helper()
	held, err := w.db.Journal(m.name).Beat(t.Context())
	want := map[string]bool{}
	for _, turn := range w.turns {
		if turn.holder == m.name && !turn.closed {
			want[turn.id], turn.beat = false, w.clock()
		}
	}
	if err != nil || len(held) != len(want) {
		t.Errorf("%s beats: %v, want %v; %v", m.name, held, want, err)
	}
	for turn, lease := range m.leases {
		if turn.holder == m.name && !turn.closed {
			if renewed, err := w.RenewLease(t.Context(), lease, 15*time.Second); err == nil {
				m.leases[turn] = renewed
			}
		}
	}
}

// take takes over the turns of silent processes, and continues or interrupts them.
func (w *walk) take(t *testing.T, m *walker, id string) {
	t.Helper()
	dead, err := w.db.Journal(m.name).TakeDead(t.Context(), true)
	lost, lostErr := w.db.Journal(m.name).TakeLost(t.Context(), true)
	lost = append(dead, lost...)
	var want []string
	var taken []*walkTurn
	for _, turn := range w.turns {
		if turn.closed || turn.holder == m.name || !turn.beat.IsZero() && w.clock().Sub(turn.beat) <= 8*time.Second {
			continue
		}
		want, taken = append(want, turn.id), append(taken, turn)
		turn.holder, turn.beat = m.name, w.clock()
		turn.attempt++
	}
	for _, turn := range taken {
		w.recover(t, m, turn, id)
	}
	slices.Sort(lost)
	slices.Sort(want)
	if err != nil || lostErr != nil || !slices.Equal(lost, want) {
		t.Errorf("%s takes %q, want %q; %v, %v", m.name, lost, want, err, lostErr)
	}
}

// recover continues a turn that was taken over, or saves it as interrupted.
func (w *walk) recover(t *testing.T, m *walker, turn *walkTurn, id string) {
	t.Helper()
	ctx := t.Context()
	record, ok, err := w.db.Journal(m.name).Read(ctx, turn.id)
	if err != nil || !ok || len(record.Rows) != turn.rows || record.Attempt != turn.attempt || string(record.State) != `"s"` {
		t.Errorf("the journal of %s is %+v, %v; want %+v", turn.id, record, err, turn)
	}
	if err := w.EndTurn(ctx, turn.lease); err != nil {
		t.Error(err)
	}
	start, err := w.BeginTurn(ctx, store.TurnRequest{ConversationID: id, Key: turn.key, TTL: 15 * time.Second})
	if errors.Is(err, store.ErrBusy) { // another turn has begun since: it goes first
		if err := w.db.Journal(m.name).Leave(ctx, []string{turn.id}); err != nil {
			t.Error(err)
		}
		turn.holder, turn.beat = "", time.Time{}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	switch {
	case start.Finished != nil: // it was saved before its process was gone, or asked again
		w.note("%s finds %s saved", m.name, turn.id)
	case turn.goesOn && turn.attempt <= 3:
		w.note("%s continues %s", m.name, turn.id)
		j := schemas.JournalTurn{ID: turn.id, ConversationID: id, Shared: true, GoesOn: true, State: []byte(`"s"`)}
		if err := w.db.Journal(m.name).Begin(ctx, j); err != nil {
			t.Error(err)
		}
		m.leases[turn], turn.lease, turn.beat = start.Lease, start.Lease, w.clock()
		return
	default:
		w.note("%s interrupts %s", m.name, turn.id)
		w.keep(t, turn, start.Lease, schemas.StatusInterrupted)
	}
	if err := w.db.Journal(m.name).Lose(ctx, turn.id); err != nil {
		t.Error(err)
	}
	turn.closed = true
}

// keep saves a turn, and returns whether it was saved.
func (w *walk) keep(t *testing.T, turn *walkTurn, lease schemas.Lease, status string) bool {
	t.Helper()
	_, err := w.SaveTurn(t.Context(), store.Turn{Lease: lease, TurnID: turn.id, Key: turn.key, User: "ask " + turn.id, Answer: "say " + turn.id, Status: status})
	if errors.Is(err, store.ErrStaleLease) {
		return false
	}
	if err != nil {
		t.Error(err)
	}
	for i, other := range w.order {
		if last := i == len(w.order)-1; last && other != turn && other.key == turn.key && !other.done { // nothing follows it
			other.replaced, other.kept = true, false
			w.order = w.order[:i]
		}
	}
	if turn.kept = true; !slices.Contains(w.order, turn) {
		w.order = append(w.order, turn)
	}
	turn.done = turn.done || status == ""
	return true
}

// finish saves the turn that the process believes to run, and ends its journal. One that was frozen may
// be late: then it saves nothing, or the answer of a turn that was interrupted meanwhile.
func (w *walk) finish(t *testing.T, m *walker) {
	t.Helper()
	turn := w.believed(m)
	if turn == nil {
		return
	}
	lease := m.leases[turn]
	delete(m.leases, turn)
	for _, other := range w.turns {
		if other != turn && other.key == turn.key && other.done { // its key was answered: the client has that
			return
		}
	}
	saved := w.keep(t, turn, lease, "")
	w.note("%s finishes %s: %v", m.name, turn.id, saved)
	if !saved && turn.holder == m.name && !turn.closed {
		// It was frozen, and its lease lost to a later turn, which only then may be.
		turn.told = w.turns[len(w.turns)-1] != turn
		if !turn.told {
			t.Errorf("%s holds %s and cannot save it", m.name, turn.id)
		}
	}
	held, err := w.db.Journal(m.name).Write(t.Context(), false, []schemas.JournalNews{{TurnID: turn.id, Ended: true}})
	mine := turn.holder == m.name && !turn.closed
	if _, held := held[turn.id]; err != nil || held != mine {
		t.Errorf("%s ends %s: held %v, want %v; %v", m.name, turn.id, held, mine, err)
	}
	turn.closed = turn.closed || mine
}

// leave hands a turn over, as an orderly end does.
func (w *walk) leave(t *testing.T, m *walker) {
	t.Helper()
	turn := w.believed(m)
	if turn == nil || turn.holder != m.name || turn.closed || !turn.goesOn {
		return
	}
	w.note("%s leaves %s", m.name, turn.id)
	if err := w.db.Journal(m.name).Leave(t.Context(), []string{turn.id}); err != nil {
		t.Error(err)
	}
	delete(m.leases, turn)
	turn.holder, turn.beat = "", time.Time{}
}

// settle lets a last process recover all that is left, and compares the conversation with the model.
func (w *walk) settle(t *testing.T, id string) {
	t.Helper()
	for range 8 {
		w.restart(0)
		w.restart(1)
		w.pass(20 * time.Second)
		w.take(t, w.members[0], id)
		for w.believed(w.members[0]) != nil {
			w.finish(t, w.members[0])
		}
	}
	open, err := w.db.Journal("").ReadConversation(t.Context(), "", id)
	if err != nil || len(open) != 0 {
		t.Errorf("left open: %+v, %v", open, err)
	}
	messages, _, err := w.Messages(t.Context(), "", id, store.MessageRange{Branch: store.Branch{Tree: true}})
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range messages {
		if m.Role == schemas.RoleAssistant {
			got = append(got, m.TurnID+" "+m.Status)
		}
	}
	for _, turn := range w.turns {
		switch {
		case turn.done:
			want = append(want, turn.id+" ")
		case turn.kept:
			want = append(want, turn.id+" "+schemas.StatusInterrupted)
		case !turn.replaced && !turn.told:
			answered := slices.ContainsFunc(w.turns, func(o *walkTurn) bool { return o != turn && o.key == turn.key && (o.done || o.kept) })
			if !answered {
				t.Errorf("%s is neither kept nor replaced", turn.id)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the conversation has %q, want %q", got, want)
	}
}

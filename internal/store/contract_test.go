package store_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/internal/store"
	"molar/mcpservers/memory"
	"molar/schemas"
)

// testContract holds a store to all that the memory server wants of it. open gives a new, empty store each time, with the clock
// that it is given, and closes it when the test ends.
func testContract(t *testing.T, open func(t *testing.T, now func() time.Time) memory.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *fixture){
		"begin writes nothing that can be read": testBeginWritesNothing,
		"a saved turn is read back":             testSavedTurn,
		"a turn is saved once":                  testSavedOnce,
		"a turn saved twice at once":            testSavedAtOnce,
		"a key finds its turn again":            testKey,
		"an old lease cannot write":             testOldLease,
		"an expired lease still can":            testExpiredLease,
		"turns of many writers wait in line":    testConcurrentTurns,
		"owners do not see one another":         testOwners,
		"ranges of messages":                    testRanges,
		"pages of messages":                     testPages,
		"the summary only goes forward":         testSummary,
		"summaries are claimed once":            testClaims,
		"claims go round":                       testClaimsInTurn,
		"summaries that can wait":               testLater,
		"interrupted turns are not summarised":  testInterrupted,
		"an interrupted turn is asked again":    testInterruptedAgain,
		"clear keeps the conversation":          testClear,
		"a cleared conversation stays cleared":  testClearedSummary,
		"delete keeps nothing":                  testDelete,
		"lists have pages":                      testList,
		"a title is cut by characters":          testTitle,
		"much at once leaves things whole":      testAtOnce,
		"a lease is renewed until it is saved":  testRenewed,
		"a branch is deleted":                   testDeletedBranch,
		"a turn between others is deleted":      testDeletedBetween,
		"a turn that was deleted":               testDeletedTurn,
		"an overtaken turn is kept":             testOvertaken,
		"what is left behind is interrupted":    testLeftBehind,
		"a question asked again under its key":  testAskedAgain,
		"the desk is no assistant":              testDesk,
		"a turn is found by its id":             testFoundByID,
		"two processes, at random":              testJournalWalk,
		"a long conversation is read in part":   testPartial,
		"files beside questions":                testFiles,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
			f.Store = open(t, f.clock)
			test(t, f)
		})
	}
	for seed := range trees(t) {
		t.Run(fmt.Sprint("branches are as they should be ", seed), func(t *testing.T) {
			f := &fixture{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
			f.Store = open(t, f.clock)
			testTree(t, f, seed+1)
		})
	}
}

// fixture is a store and its clock, which stands still until it is moved.
type fixture struct {
	memory.Store
	mu  sync.Mutex
	now time.Time
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// begin opens a turn, which holds the conversation for a minute.
func (f *fixture) begin(t *testing.T, owner, id, key string) schemas.Opening {
	t.Helper()
	start, err := f.BeginTurn(t.Context(), store.TurnRequest{Owner: owner, ConversationID: id, Key: key, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return start
}

// look opens a turn of the conversation c and gives it free again.
func (f *fixture) look(t *testing.T, owner, key string) schemas.Opening {
	t.Helper()
	start := f.begin(t, owner, "c", key)
	if err := f.EndTurn(t.Context(), start.Lease); err != nil {
		t.Fatal(err)
	}
	return start
}

// turn begins and saves a turn whose texts follow from its id.
func (f *fixture) turn(t *testing.T, owner, id, turnID, status string) store.SavedTurn {
	t.Helper()
	saved, err := f.SaveTurn(t.Context(), store.Turn{
		Lease: f.begin(t, owner, id, "").Lease, TurnID: turnID, User: "ask " + turnID, Answer: "say " + turnID,
		Status: status, Language: "vi",
	})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func (f *fixture) texts(t *testing.T, owner, id string, r store.MessageRange) []string {
	t.Helper()
	messages, _, err := f.Messages(t.Context(), owner, id, r)
	if err != nil {
		t.Fatal(err)
	}
	return contents(messages)
}

func contents(messages []schemas.StoredMessage) []string {
	texts := []string{}
	for _, m := range messages {
		texts = append(texts, m.Content)
	}
	return texts
}

func same(t *testing.T, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func refused(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

func testBeginWritesNothing(t *testing.T, f *fixture) {
	start := f.begin(t, "", "c1", "")
	same(t, start, schemas.Opening{
		ConversationID: "c1", Messages: []schemas.StoredMessage{}, ServersRead: []string{},
		Lease: schemas.Lease{ConversationID: "c1", Fence: 1, Expires: f.clock().Add(time.Minute)},
	}, cmpopts.IgnoreFields(schemas.Lease{}, "Token"))
	page, err := f.List(t.Context(), store.ListRequest{Limit: 10})
	if err != nil || len(page.Conversations) != 0 {
		t.Errorf("list after begin: %v, %v", page, err)
	}
	if _, ok, err := f.Conversation(t.Context(), "", "c1"); ok || err != nil {
		t.Errorf("conversation after begin: %v, %v", ok, err)
	}
	refused(t, f.Clear(t.Context(), "", "c1"), store.ErrNotFound)
}

func testSavedTurn(t *testing.T, f *fixture) {
	ctx := t.Context()
	start := f.begin(t, "", "c1", "")
	at := f.clock()
	saved, err := f.SaveTurn(ctx, store.Turn{
		Lease: start.Lease, TurnID: "t1", User: "câu hỏi", Answer: "câu trả lời",
		Sources: []schemas.Source{{Title: "A", URL: "https://a.example"}}, Calls: []byte(`[{"server":"s"}]`),
		ServersRead: []string{"s", "a"}, Language: "vi",
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, saved, store.SavedTurn{TurnID: "t1", SavedAt: at})
	f.pass(time.Second)
	start = f.begin(t, "", "c1", "")
	same(t, start, schemas.Opening{
		ConversationID: "c1", Known: true, Tip: "t1",
		Messages: []schemas.StoredMessage{
			{Seq: 1, Role: schemas.RoleUser, Content: "câu hỏi", Timestamp: at, TurnID: "t1"},
			{
				Seq: 2, Role: schemas.RoleAssistant, Content: "câu trả lời", Timestamp: at, TurnID: "t1",
				Sources: []schemas.Source{{Title: "A", URL: "https://a.example"}}, Calls: []byte(`[{"server":"s"}]`),
			},
		},
		ServersRead: []string{"a", "s"},
		Lease:       schemas.Lease{ConversationID: "c1", Fence: 2, Expires: f.clock().Add(time.Minute)},
	}, cmpopts.IgnoreFields(schemas.Lease{}, "Token"), cmpopts.SortSlices(strings.Compare))
	c, ok, err := f.Conversation(ctx, "", "c1")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	same(t, c, schemas.Conversation{ID: "c1", Title: "câu hỏi", Messages: 2, CreatedAt: at, UpdatedAt: at})

	if _, err := f.SaveTurn(ctx, store.Turn{Lease: start.Lease, TurnID: "t2", User: "q", Answer: "a", ServersRead: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	same(t, f.begin(t, "", "c1", "").ServersRead, []string{"a", "b", "s"}, cmpopts.SortSlices(strings.Compare))
}

func testSavedOnce(t *testing.T, f *fixture) {
	turn := store.Turn{Lease: f.begin(t, "", "c1", "").Lease, TurnID: "t1", User: "q", Answer: "a"}
	first, err := f.SaveTurn(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	f.pass(time.Minute)
	f.begin(t, "", "c1", "") // the answer to the first save was lost, and a later turn began
	again, err := f.SaveTurn(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, first)
	same(t, f.texts(t, "", "c1", store.MessageRange{}), []string{"q", "a"})

	turn.Lease = f.begin(t, "", "c2", "").Lease
	_, err = f.SaveTurn(t.Context(), turn)
	refused(t, err, store.ErrConflict)
}

func testSavedAtOnce(t *testing.T, f *fixture) {
	const turns, savers = 10, 4
	for i := range turns {
		turn := store.Turn{Lease: f.begin(t, "", "c", "").Lease, TurnID: fmt.Sprint("t", i), User: "q", Answer: "a"}
		var wg sync.WaitGroup
		for range savers {
			wg.Go(func() {
				if _, err := f.SaveTurn(t.Context(), turn); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	same(t, len(f.texts(t, "", "c", store.MessageRange{})), 2*turns)
}

func testKey(t *testing.T, f *fixture) {
	ctx := t.Context()
	save := func(l schemas.Lease, turnID, answer string) store.SavedTurn {
		saved, err := f.SaveTurn(ctx, store.Turn{Lease: l, TurnID: turnID, Key: "k", User: "q", Answer: answer})
		if err != nil {
			t.Fatal(err)
		}
		return saved
	}
	first := save(f.begin(t, "ann", "c1", "k").Lease, "t1", "one")
	second := save(f.begin(t, "ann", "c1", "").Lease, "t2", "two")
	same(t, second, first)
	same(t, f.texts(t, "ann", "c1", store.MessageRange{}), []string{"q", "one"})

	want := &schemas.Finished{TurnID: "t1", Answer: "one", Sources: []schemas.Source{}, SavedAt: first.SavedAt}
	start := f.begin(t, "ann", "c1", "k")
	same(t, start.Finished, want)
	same(t, start.Lease, schemas.Lease{})
	start, err := f.BeginTurn(ctx, store.TurnRequest{
		Owner: "ann", ConversationID: "made-up", AnyConversation: true, Key: "k", TTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, start.Finished, want)
	same(t, start.ConversationID, "c1")

	if start := f.begin(t, "ann", "c2", "k"); start.Finished != nil {
		t.Error("a key must not be found in another conversation")
	}
	if start := f.begin(t, "bob", "c1", "k"); start.Finished != nil || start.Known {
		t.Error("a key must not be found by another owner")
	}
}

func testOldLease(t *testing.T, f *fixture) {
	ctx := t.Context()
	old := f.begin(t, "", "c1", "").Lease
	f.pass(time.Minute)
	newer := f.begin(t, "", "c1", "").Lease
	if newer.Fence <= old.Fence {
		t.Errorf("fence %d after %d", newer.Fence, old.Fence)
	}
	_, err := f.SaveTurn(ctx, store.Turn{Lease: old, TurnID: "old", User: "q", Answer: "a"})
	refused(t, err, store.ErrStaleLease)
	_, err = f.RenewLease(ctx, old, time.Minute)
	refused(t, err, store.ErrStaleLease)
	forged := newer
	forged.Fence++
	_, err = f.SaveTurn(ctx, store.Turn{Lease: forged, TurnID: "forged", User: "q", Answer: "a"})
	refused(t, err, store.ErrStaleLease)
	if _, err := f.SaveTurn(ctx, store.Turn{Lease: newer, TurnID: "new", User: "q", Answer: "b"}); err != nil {
		t.Error(err)
	}
	same(t, f.texts(t, "", "c1", store.MessageRange{}), []string{"q", "b"})
}

func testExpiredLease(t *testing.T, f *fixture) {
	lease := f.begin(t, "", "c1", "").Lease
	f.pass(time.Hour)
	renewed, err := f.RenewLease(t.Context(), lease, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	same(t, renewed.Expires, f.clock().Add(time.Minute))
	f.pass(time.Hour)
	if _, err := f.SaveTurn(t.Context(), store.Turn{Lease: renewed, TurnID: "t", User: "q", Answer: "a"}); err != nil {
		t.Error(err)
	}
}

func testConcurrentTurns(t *testing.T, f *fixture) {
	const writers, each = 8, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				start, err := f.await(t, store.TurnRequest{ConversationID: "c", TTL: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				id := fmt.Sprintf("%d-%d", w, i)
				_, err = f.SaveTurn(t.Context(), store.Turn{Lease: start.Lease, TurnID: id, User: "q" + id, Answer: "a" + id})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	messages, total, err := f.Messages(t.Context(), "", "c", store.MessageRange{})
	if err != nil || total != len(messages) || total != 2*writers*each {
		t.Fatalf("%d messages counted, %d read, %v", total, len(messages), err)
	}
	for i, m := range messages {
		if m.Seq != int64(i+1) || m.TurnID != messages[i/2*2].TurnID {
			t.Fatalf("message %d has seq %d of turn %s", i, m.Seq, m.TurnID)
		}
	}
}

// await begins a turn as soon as no other one runs.
func (f *fixture) await(t *testing.T, req store.TurnRequest) (schemas.Opening, error) {
	t.Helper()
	for {
		start, err := f.BeginTurn(t.Context(), req)
		if !errors.Is(err, store.ErrBusy) {
			return start, err
		}
		runtime.Gosched()
	}
}

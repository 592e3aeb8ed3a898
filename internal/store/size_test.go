package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/storetest"
	"molar/internal/testkit/crash"
	"molar/schemas"
)

// fill makes conversations of one turn each behind the store's back, and one long one
// of that many messages.
func fill(tb testing.TB, path string, conversations, messages int) {
	tb.Helper()
	driver := "sqlite"
	series := func(n int) string {
		return fmt.Sprintf("(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s)", n)
	}
	if strings.HasPrefix(path, "postgres") {
		driver = "pgx"
		series = func(n int) string { return fmt.Sprintf("(SELECT generate_series(1, %d) AS n)", n) }
	}
	db, err := sql.Open(driver, path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	statements := []string{}
	if conversations > 0 {
		statements = append(statements, `INSERT INTO conversations (owner, id, title, messages, last_seq, head, created_at, updated_at)
			SELECT 'owner-' || CAST(n % 10 AS TEXT), 'chat-' || CAST(n AS TEXT), 'title', 2, 2, 2, n, n FROM `+series(conversations)+` AS s`)
	}
	if messages > 0 {
		statements = append(statements,
			fmt.Sprintf(`INSERT INTO conversations (owner, id, title, messages, last_seq, head, created_at, updated_at)
				VALUES ('', 'long', 'title', %[1]d, %[1]d, %[1]d, 1, 1)`, messages),
			`INSERT INTO messages (conversation, seq, parent, role, content, timestamp)
				SELECT (SELECT num FROM conversations WHERE id = 'long'), n, n - 1, CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END,
				'what was said, in a sentence or two, as people do', n FROM `+series(messages)+` AS s`)
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatal(err)
		}
	}
}

const manyMessages, manyConversations = 10_000, 100_000

// How fast this is, the benchmarks say.
func TestDB_LargeConversationAndLongList(t *testing.T) {
	if testing.Short() {
		t.Skip("110,000 rows take a second to write")
	}
	path := filepath.Join(t.TempDir(), "m.db")
	db := open(t, path)
	fill(t, path, manyConversations, manyMessages)
	messages, total, err := db.Messages(t.Context(), "", "long", store.MessageRange{Last: 6})
	if err != nil || total != manyMessages || len(messages) != 6 || messages[5].Seq != manyMessages {
		t.Errorf("%d of %d messages, %v", len(messages), total, err)
	}
	seen := 0
	req := store.ListRequest{Owner: "owner-3", Limit: 1000}
	for {
		page, err := db.List(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(page.Conversations)
		if req.After = page.Next; req.After == "" {
			break
		}
	}
	if seen != manyConversations/10 {
		t.Errorf("%d conversations in the pages", seen)
	}
}

func TestDB_LargeMessage(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "m.db"))
	text := strings.Repeat("răng ", 1<<20/6)
	saveTurn(t, db, "c", "t", text)
	messages, _, err := db.Messages(t.Context(), "", "c", store.MessageRange{})
	if err != nil || len(messages) != 2 || messages[1].Content != text {
		t.Errorf("%d messages, %v", len(messages), err)
	}
}

// Two programs write to one file; both are killed in the middle, time and again.
func TestDB_TwoProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts and kills programs, which takes seconds")
	}
	path := filepath.Join(t.TempDir(), "m.db")
	reports := make([]crash.Report, 2)
	var wg sync.WaitGroup
	for i := range reports {
		wg.Go(func() {
			var err error
			reports[i], err = crash.Run(t.Context(), crash.Config{
				Command: childCommand(t, path), Cycles: 5, Writers: 3, Seed: uint64(i), Name: fmt.Sprint("program-", i),
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range reports {
		t.Logf("%d kills, %d turns reported saved, %d cut off", r.Cycles, r.Saved, r.Unsure)
		if len(r.Faults) > 0 || r.Saved == 0 {
			t.Errorf("%+v", r)
		}
	}
	if err := open(t, path).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// stores runs a benchmark on both databases.
func stores(b *testing.B, f func(b *testing.B, db *store.DB, path string)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "m.db")
		f(b, open(b, path), path)
	})
	b.Run("postgres", func(b *testing.B) {
		dsn := storetest.StartPostgres(b).Database(b)
		f(b, openPostgres(b, dsn, time.Now), dsn)
	})
}

// BenchmarkSaveTurn begins and saves a turn: with one client, then with many at once.
func BenchmarkSaveTurn(b *testing.B) { benchTurns(b, false) }

// BenchmarkRecordedTurn has record_turn between the two, as in a host.
func BenchmarkRecordedTurn(b *testing.B) { benchTurns(b, true) }

func benchTurns(b *testing.B, recorded bool) {
	stores(b, func(b *testing.B, db *store.DB, _ string) {
		for _, clients := range []int{1, 16, 64} {
			b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
				run := time.Now().UnixNano()
				next := make(chan int)
				var wg sync.WaitGroup
				for w := range clients {
					wg.Go(func() {
						for i := range next {
							id := fmt.Sprint("c", clients, "-", w, "-", run, "-", i/20)
							if err := oneTurn(b.Context(), db, id, fmt.Sprint(run, "-", i), recorded); err != nil {
								b.Error(err)
							}
						}
					})
				}
				for i := range b.N {
					next <- i
				}
				close(next)
				wg.Wait()
			})
		}
	})
}

func oneTurn(ctx context.Context, db *store.DB, id, turnID string, recorded bool) error {
	start, err := db.BeginTurn(ctx, store.TurnRequest{ConversationID: id, TTL: time.Minute})
	if err != nil {
		return err
	}
	if recorded {
		journal := db.Journal("a")
		if err := journal.Begin(ctx, schemas.JournalTurn{ID: turnID, ConversationID: id, State: []byte(`"a question"`)}); err != nil {
			return err
		}
		defer journal.Drop(ctx, []string{turnID}) //nolint:errcheck // of a benchmark
	}
	_, err = db.SaveTurn(ctx, store.Turn{Lease: start.Lease, TurnID: turnID, User: "a question", Answer: strings.Repeat("answer ", 100)})
	return err
}

// BenchmarkBeginTurn opens a turn of 10,000 messages that no compaction covers: some 512 KiB
// of them are read.
func BenchmarkBeginTurn(b *testing.B) {
	stores(b, func(b *testing.B, db *store.DB, path string) {
		fill(b, path, 0, manyMessages)
		for b.Loop() {
			start, err := db.BeginTurn(b.Context(), store.TurnRequest{ConversationID: "long", TTL: time.Minute, Most: 512 << 10})
			if err != nil || !start.Partial {
				b.Fatal(err)
			}
			if err := db.EndTurn(b.Context(), start.Lease); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkClaimSummaries asks after an answer whether a summary is due, with 2,000
// conversations that each have one turn without.
func BenchmarkClaimSummaries(b *testing.B) {
	stores(b, func(b *testing.B, db *store.DB, _ string) {
		for i := range 2000 {
			if err := oneTurn(b.Context(), db, fmt.Sprint("c", i), fmt.Sprint("t", i), false); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if claims, err := db.ClaimSummaries(b.Context(), 8, 20, false, time.Minute); err != nil || len(claims) > 0 {
				b.Fatal(claims, err)
			}
		}
	})
}

// BenchmarkGetContext reads the last six of 10,000 messages.
func BenchmarkGetContext(b *testing.B) {
	stores(b, func(b *testing.B, db *store.DB, path string) {
		fill(b, path, 0, manyMessages)
		for b.Loop() {
			if _, err := db.Recent(b.Context(), "", "long", 6); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkList reads pages of 50 of 100,000 conversations: the first one, and one
// from the middle.
func BenchmarkList(b *testing.B) {
	stores(b, func(b *testing.B, db *store.DB, path string) {
		fill(b, path, manyConversations, 0)
		for name, req := range map[string]store.ListRequest{
			"first":    {Limit: 50},
			"middle":   {Limit: 50, After: "50000-50000"},
			"of owner": {Limit: 50, Owner: "owner-3", After: "50000-50000"},
			"search":   {Limit: 50, Query: "titel"},
		} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if _, err := db.List(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

package store_test

import (
	"context"
	"database/sql"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"molar/internal/store"
	"molar/internal/store/storetest"
	"molar/schemas"
)

// What a replica that is stopped in the middle holds in PostgreSQL keeps the turns of others
// from being ended no longer than its own.
func testReapsBesideLocks(t *testing.T, dsn string) {
	db := openPostgres(t, dsn, nil)
	reaper := db.Journal("c")
	for replica, id := range map[string]string{"a": "held", "b": "gone"} {
		if err := db.Journal(replica).Begin(t.Context(), schemas.JournalTurn{ID: id, Shared: true}); err != nil {
			t.Fatal(err)
		}
	}
	execPostgres(t, dsn, "UPDATE live_turns SET beat_at = 0")
	other := openRaw(t, dsn)
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE live_turns SET conversation_id = 'c' WHERE id = 'held'"); err != nil {
		t.Fatal(err)
	}
	if lost, err := reaper.TakeLost(t.Context(), true); err != nil || !slices.Equal(lost, []string{"gone"}) {
		t.Errorf("beside a lock: %q, %v", lost, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if lost, err := reaper.TakeLost(t.Context(), true); err != nil || !slices.Equal(lost, []string{"held"}) {
		t.Errorf("afterwards: %q, %v", lost, err)
	}
}

// A replica may be stopped between any two words that it says to PostgreSQL: none of those
// about turns that run leaves a lock behind.
func testStopsAnywhere(t *testing.T, pg *storetest.Postgres, dsn string) {
	openPostgres(t, dsn, nil) // makes the tables
	wire := newWire(t, pg.Addr())
	through, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	through.Host = wire.listener.Addr().String()
	defer wire.goOn()
	locks := openRaw(t, dsn+"&lock_timeout=10000")
	for name, write := range map[string]func(ctx context.Context, s *store.Live, j *store.Journal) error{
		"write": func(ctx context.Context, s *store.Live, j *store.Journal) error {
			_, err := j.Write(ctx, false, []schemas.JournalNews{{TurnID: "t", Rows: []schemas.JournalRow{{First: 1, Last: 1, Body: "[]"}}}})
			return err
		},
		"stop": func(ctx context.Context, s *store.Live, j *store.Journal) error { return s.Stop(ctx, "t") },
		"count": func(ctx context.Context, s *store.Live, j *store.Journal) error {
			_, err := s.Take(ctx, "name", 1, 1)
			return err
		},
		"beat": func(ctx context.Context, s *store.Live, j *store.Journal) error { _, err := j.Beat(ctx); return err },
		"reap": func(ctx context.Context, s *store.Live, j *store.Journal) error {
			_, err := j.TakeLost(ctx, true)
			return err
		},
	} {
		for words, ended := 0, false; !ended; words++ {
			execPostgres(t, dsn, "DELETE FROM live_turns; DELETE FROM live_rates; INSERT INTO live_rates VALUES ('name', 1, 0, TRUE)")
			db := openPostgres(t, through.String(), nil)
			s, j := db.Live("a"), db.Journal("a")
			if err := j.Begin(t.Context(), schemas.JournalTurn{ID: "t", Shared: true}); err != nil {
				t.Fatal(err)
			}
			if name == "reap" {
				execPostgres(t, dsn, "UPDATE live_turns SET beat_at = 0, replica = 'b'")
			}
			ctx, cancel := context.WithCancel(t.Context())
			stopped := wire.stopAfter(words)
			wrote := make(chan error, 1)
			go func() { wrote <- write(ctx, s, j) }()
			select {
			case err := <-wrote:
				if ended = true; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			case <-stopped:
				for _, rows := range []string{"SELECT id FROM live_turns FOR UPDATE", "SELECT name FROM live_rates FOR UPDATE"} {
					if _, err := locks.ExecContext(t.Context(), rows); err != nil {
						t.Fatalf("%s, stopped after %d words: %v", name, words, err)
					}
				}
				cancel()
				wire.goOn()
				// What was stopped may be a word of the connection behind the last one of the write.
				if err := <-wrote; err == nil {
					if ended = true; words == 0 {
						t.Errorf("%s went on although it was stopped", name)
					}
				}
			}
			cancel()
			wire.goOn()
		}
	}
}

func openRaw(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A wire stands between a process and its server, and stops the process as the server sees it.
type wire struct {
	listener net.Listener
	to       string
	tasks    sync.WaitGroup

	mu sync.Mutex
	// left is how often something may still be said; below zero nothing is counted.
	left             int
	stopped, resumed chan struct{}
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, to: to, left: -1}
	w.tasks.Go(w.accept)
	t.Cleanup(w.tasks.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	return w
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = client.Close()
			return
		}
		w.tasks.Go(func() {
			_, _ = io.Copy(client, server) // to the end of the connection
			_ = client.Close()
		})
		w.tasks.Go(func() {
			defer server.Close()
			said := make([]byte, 64<<10)
			for {
				n, err := client.Read(said)
				if err != nil {
					return
				}
				w.wait()
				if _, err := server.Write(said[:n]); err != nil {
					return
				}
			}
		})
	}
}

// stopAfter lets so many words through. The channel is closed when the next one is said.
func (w *wire) stopAfter(words int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.stopped, w.resumed = words, make(chan struct{}), make(chan struct{})
	return w.stopped
}

func (w *wire) goOn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left >= 0 {
		w.left = -1
		close(w.resumed)
	}
}

func (w *wire) wait() {
	w.mu.Lock()
	if w.left != 0 {
		w.left = max(w.left-1, -1)
		w.mu.Unlock()
		return
	}
	select {
	case <-w.stopped:
	default:
		close(w.stopped)
	}
	resumed := w.resumed
	w.mu.Unlock()
	select {
	case <-resumed:
	case <-time.After(time.Minute): // the test has failed
	}
}

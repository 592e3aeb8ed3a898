package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent/memory"
	"molar/schemas"
)

// busyServer is a memory server with one conversation, so that the test's fake clock governs
// every wait.
type busyServer struct {
	mu    sync.Mutex
	held  bool
	asked int
}

// busyError is the server's error for a busy conversation.
type busyError struct{}

func (busyError) Error() string { return "busy" }
func (busyError) RPCCode() int  { return -32004 }

func (b *busyServer) Request(_ context.Context, _, method string, _, result any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch method {
	case "memory/begin_turn":
		if b.asked++; b.held {
			return busyError{}
		}
		b.held = true
		return json.Unmarshal([]byte(`{"conversation_id":"c"}`), result)
	case "memory/end_turn":
		b.held = false
	}
	return nil
}

// Turns of one conversation wait in the order in which they came, and retries are limited.
func TestClient_Begin_WaitsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &busyServer{held: true} // by another process, for 5 s
		c, err := memory.New(server)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		for _, name := range []string{"one", "two", "three", "four"} {
			wg.Go(func() {
				_, err := c.Begin(t.Context(), memory.BeginRequest{ConversationID: "c", Wait: 30 * time.Second})
				mu.Lock()
				order = append(order, fmt.Sprint(name, " ", errors.Is(err, memory.ErrBusy)))
				mu.Unlock()
				if err == nil {
					time.Sleep(8 * time.Second) // a long answer
					err = c.Release(t.Context(), schemas.Lease{})
				}
				if err != nil && !errors.Is(err, memory.ErrBusy) {
					t.Error(err)
				}
			})
			pass(100 * time.Millisecond)
		}
		pass(5 * time.Second)
		if err := c.Release(t.Context(), schemas.Lease{}); err != nil {
			t.Error(err)
		}
		began := time.Now()
		wg.Wait()
		if diff := cmp.Diff([]string{"one false", "two false", "three false", "four true"}, order); diff != "" {
			t.Errorf("order (-want +got)\n%s", diff)
		}
		if took := time.Since(began); took > 28*time.Second {
			t.Errorf("it took %s", took)
		}
		if server.asked > 100 {
			t.Errorf("asked %d times", server.asked)
		}
	})
}

func TestClient_Begin_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := memory.New(&busyServer{held: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{0, time.Second} {
			began := time.Now()
			_, err = c.Begin(t.Context(), memory.BeginRequest{ConversationID: "c", Wait: wait})
			if took := time.Since(began); !errors.Is(err, memory.ErrBusy) || took > wait {
				t.Errorf("wait %s: %v after %s", wait, err, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = c.Begin(ctx, memory.BeginRequest{ConversationID: "c", Wait: time.Minute}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// Two and three turns at once in one conversation, through two replicas: all are stored whole, in
// the order of their leases.
func TestClient_TurnsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molar.db")
	replicas := []*memory.Client{newClient(t, path), newClient(t, path)}
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			c, id := replicas[i%2], fmt.Sprint("t", i)
			o, err := c.Begin(t.Context(), memory.BeginRequest{ConversationID: "c", Wait: 30 * time.Second})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, "q"+id, "a"+id)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			save(t, c, memory.Record{Lease: o.Lease, TurnID: id, User: "q" + id, Answer: "a" + id})
		})
	}
	wg.Wait()
	wantTexts(t, replicas[0], "c", order...)
}

func wantTexts(t *testing.T, c *memory.Client, id string, want ...string) {
	t.Helper()
	messages, err := c.Branch(t.Context(), "", id, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		got = append(got, strings.TrimSpace(m.Content+" "+m.Status))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
}

// A turn is stopped and the next one begun at once, a hundred times: both are stored.
func TestClient_StopThenAsk(t *testing.T) {
	c := fresh(t)
	var want []string
	stops := 100
	if testing.Short() {
		stops = 25
	}
	for i := range stops {
		stopped, asked := fmt.Sprint("s", i), fmt.Sprint("a", i)
		o := begin(t, c, "c", "")
		var stopping sync.WaitGroup
		stopping.Go(func() {
			save(t, c, memory.Record{Lease: o.Lease, TurnID: stopped, User: stopped, Answer: "half", Status: schemas.StatusInterrupted})
		})
		next, err := c.Begin(t.Context(), memory.BeginRequest{ConversationID: "c", Wait: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		save(t, c, memory.Record{Lease: next.Lease, TurnID: asked, User: asked, Answer: "whole"})
		stopping.Wait()
		want = append(want, stopped, "half interrupted", asked, "whole")
	}
	wantTexts(t, c, "c", want...)
}

// An opening contains the branch's assistant, its subject, its compaction byte by byte as it was
// written, and the pieces after the compaction.
func TestClient_Opening(t *testing.T) {
	c := fresh(t)
	compaction := schemas.Compaction{Covers: 2, Text: "  Frozen,\nas it was. "}
	turn(t, c, "c", "one", "first", "")
	o := begin(t, c, "c", "")
	save(t, c, memory.Record{
		Lease: o.Lease, TurnID: "t2", User: "two", Answer: "second", Assistant: "dental", Subject: "two", Compaction: &compaction,
	})
	o = begin(t, c, "c", "")
	save(t, c, memory.Record{Lease: o.Lease, TurnID: "t3", User: "and?", Answer: "third", Assistant: "general"})
	for _, p := range []schemas.Piece{{Seq: 2, Text: "P1"}, {Seq: 4, Text: "P2"}, {Seq: 6, Text: "P3", Condensed: "all"}} {
		if err := c.AddPiece(t.Context(), "", "c", p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.AddPiece(t.Context(), "", "c", schemas.Piece{Seq: 6, Text: "again"}); !errors.Is(err, memory.ErrStale) {
		t.Errorf("a second piece: %v", err)
	}
	check := func(o schemas.Opening, assistant, tip, summary string, covers int64, pieces []schemas.Piece, texts ...string) {
		t.Helper()
		if o.Assistant != assistant || o.Tip != tip || o.Subject != "two" || o.Compaction != compaction || o.Summary != summary || o.Covers != covers {
			t.Errorf("opening %+v", o)
		}
		if !slices.Equal(o.Pieces, pieces) {
			t.Errorf("pieces %+v", o.Pieces)
		}
		var got []string
		for _, m := range o.Messages {
			got = append(got, m.Content)
		}
		if !slices.Equal(got, texts) {
			t.Errorf("messages %q", got)
		}
	}
	second, third := schemas.Piece{Seq: 4, Text: "P2"}, schemas.Piece{Seq: 6, Text: "P3", Condensed: "all"}
	check(peek(t, c, "c", ""), "general", "t3", "all", 6, []schemas.Piece{second, third}, "two", "second", "and?", "third")
	o, err := c.Begin(t.Context(), memory.BeginRequest{ConversationID: "c", Parent: new("t2")})
	if err != nil {
		t.Fatal(err)
	}
	check(o, "dental", "t2", "P1\n\nP2", 4, []schemas.Piece{second}, "two", "second")
}

// olderServer is an earlier version of the server, which answers the request for a turn with its own
// error.
type olderServer struct{}

func (olderServer) Request(context.Context, string, string, any, any) error {
	return unknownMethodError{}
}

type unknownMethodError struct{}

func (unknownMethodError) Error() string { return "Method not found" }
func (unknownMethodError) RPCCode() int  { return -32601 }

// A turn is found by its id once it is saved; before, the result is empty without an error.
func TestClient_TurnByItsID(t *testing.T) {
	c := fresh(t)
	o := begin(t, c, "c", "")
	if got, ok, err := c.Turn(t.Context(), "", "t1"); ok || err != nil {
		t.Errorf("before it is saved: %+v, %v", got, err)
	}
	save(t, c, memory.Record{Lease: o.Lease, TurnID: "t1", User: "q", Answer: "a", Status: schemas.StatusInterrupted})
	if got, ok, err := c.Turn(t.Context(), "", "t1"); !ok || err != nil || got.Question != "q" || got.ConversationID != "c" || got.Status != schemas.StatusInterrupted {
		t.Errorf("once it is: %+v, %v", got, err)
	}
	old, err := memory.New(olderServer{})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := old.Turn(t.Context(), "", "t1"); ok || err != nil {
		t.Errorf("at an earlier server: %+v, %v", got, err)
	}
}

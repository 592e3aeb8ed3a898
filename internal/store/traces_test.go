package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store"
	"molar/internal/store/database"
)

func TestTraces(t *testing.T) {
	testTraces(t, func(now func() time.Time) *store.DB { return stateOpenAt(t, now) })
}

func testTraces(t *testing.T, open func(now func() time.Time) *store.DB) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(func() time.Time { return now })
	var traces []store.Trace
	for i := range 10 {
		traces = append(traces, store.Trace{
			TurnID: fmt.Sprint("t", i), ConversationID: "c", Owner: "ann",
			CreatedAt: now.Add(-time.Duration(i) * time.Hour), Body: json.RawMessage(`"` + strings.Repeat("x", 98) + `"`),
		})
	}
	if err := db.PutTraces(ctx, traces); err != nil {
		t.Fatal(err)
	}
	got, ok, err := db.GetTrace(ctx, "t3")
	want := traces[3]
	want.Size = 100
	if err != nil || !ok || !cmp.Equal(got, want) {
		t.Errorf("%v %v %s", ok, err, cmp.Diff(want, got))
	}
	if _, ok, err := db.GetTrace(ctx, "unknown"); ok || err != nil {
		t.Errorf("unknown: %v, %v", ok, err)
	}
	for _, step := range []struct {
		age  time.Duration
		max  int64
		left string
	}{
		{24 * time.Hour, 1000, "t0 t1 t2 t3 t4 t5 t6 t7 t8 t9"},
		{7 * time.Hour, 1000, "t0 t1 t2 t3 t4 t5 t6 t7"},
		{24 * time.Hour, 799, "t0 t1 t2 t3 t4 t5 t6"},
		{24 * time.Hour, 300, "t0 t1 t2"},
		{24 * time.Hour, 0, ""},
	} {
		if _, err := db.PruneTraces(ctx, step.age, step.max); err != nil {
			t.Fatal(err)
		}
		list, err := db.ListTraces(ctx, 100)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, tr := range list {
			if tr.Body != nil {
				t.Error("a list has bodies")
			}
			ids = append(ids, tr.TurnID)
		}
		if got := strings.Join(ids, " "); got != step.left {
			t.Errorf("age %v, %d bytes: left %q, want %q", step.age, step.max, got, step.left)
		}
	}
	many := make([]store.Trace, 1201) // more than one transaction deletes
	for i := range many {
		many[i] = store.Trace{TurnID: fmt.Sprint("many", i), CreatedAt: now.Add(time.Duration(i) * time.Second), Body: json.RawMessage(`{}`)}
	}
	if err := db.PutTraces(ctx, many); err != nil {
		t.Fatal(err)
	}
	deleted, err := db.PruneTraces(ctx, time.Hour, 2)
	list, listErr := db.ListTraces(ctx, 100)
	if err := errors.Join(err, listErr); err != nil || deleted != 1200 || len(list) != 1 || list[0].TurnID != "many1200" {
		t.Errorf("deleted %d of many, left %v, %v", deleted, list, err)
	}
}

func TestTraceWriter(t *testing.T) {
	ctx := t.Context()
	db := openState(t, filepath.Join(t.TempDir(), "m.db"))
	if _, err := store.NewTraceWriter(store.TraceWriterConfig{}); err == nil {
		t.Error("made without a database")
	}
	w, err := store.NewTraceWriter(store.TraceWriterConfig{Store: db.State, QueueLen: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		w.Record(store.Trace{TurnID: fmt.Sprint("t", i), ConversationID: "c", Body: json.RawMessage(`{}`)})
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	list, err := db.ListTraces(ctx, 2000)
	if err != nil || len(list) != 1000 {
		t.Fatalf("%d traces after flush, %v", len(list), err)
	}
	w.Record(store.Trace{TurnID: "large", ConversationID: "c", Body: make(json.RawMessage, store.MaxTrace+1)})
	w.Record(store.Trace{TurnID: "last", ConversationID: "c", Body: json.RawMessage(`{}`)})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Record(store.Trace{TurnID: "late", ConversationID: "c", Body: json.RawMessage(`{}`)})
	if err := w.Flush(ctx); err != nil {
		t.Error(err)
	}
	if got := w.Dropped(); got != 2 {
		t.Errorf("%d dropped, want the large and the late one", got)
	}
	if _, ok, err := db.GetTrace(ctx, "last"); !ok || err != nil {
		t.Errorf("close lost a trace: %v", err)
	}
}

func TestTraceWriter_NeverBlocks(t *testing.T) {
	base, err := database.Open(t.Context(), database.Config{Path: filepath.Join(t.TempDir(), "m.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	db := store.NewState(base)
	w, err := store.NewTraceWriter(store.TraceWriterConfig{Store: db, QueueLen: 1})
	if err != nil {
		t.Fatal(err)
	}
	base.Writing <- struct{}{} // no writer gets its turn
	// The writer can hold one batch and the queue one trace; the rest must drop.
	for i := range 100 {
		w.Record(store.Trace{TurnID: fmt.Sprint("t", i), ConversationID: "c", Body: json.RawMessage(`{}`)})
	}
	<-base.Writing
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := db.ListTraces(t.Context(), 200)
	if err != nil {
		t.Fatal(err)
	}
	if w.Dropped() == 0 || int64(len(list))+w.Dropped() != 100 {
		t.Errorf("%d stored, %d dropped, of 100", len(list), w.Dropped())
	}
}

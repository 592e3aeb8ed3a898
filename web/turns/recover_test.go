package turns

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent/answer"
	"molar/schemas"
)

// oddLedger writes the news that it receives, and sometimes returns an error although it has
// written them.
type oddLedger struct {
	Ledger
	mu    sync.Mutex
	rows  []schemas.LiveRow
	ended bool
	lose  int
}

func (l *oddLedger) Begin(context.Context, schemas.LiveTurn) error      { return nil }
func (l *oddLedger) Reap(context.Context) ([]string, error)             { return nil, nil }
func (l *oddLedger) Wake(context.Context, ...string) error              { return nil }
func (l *oddLedger) Decided(context.Context) ([]schemas.LiveAsk, error) { return nil, nil }
func (l *oddLedger) Find(context.Context, string, string) (schemas.LiveTurn, bool, error) {
	return schemas.LiveTurn{}, false, nil
}

func (l *oddLedger) Listen(ctx context.Context, _ func([]string), _ func(bool)) error {
	<-ctx.Done()
	return ctx.Err()
}

// Tell refuses a row that exists already, as a primary key does.
func (l *oddLedger) Tell(_ context.Context, news []schemas.LiveNews) (map[string]bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stops := map[string]bool{}
	for _, n := range news {
		if l.ended {
			continue
		}
		for _, r := range n.Rows {
			if slices.ContainsFunc(l.rows, func(old schemas.LiveRow) bool { return old.First == r.First }) {
				return nil, errors.New("duplicate key")
			}
		}
		stops[n.TurnID] = false
		l.rows, l.ended = append(l.rows, n.Rows...), n.Ended
		if len(n.Rows) > 0 || n.Ended {
			if l.lose++; l.lose%2 == 1 {
				return nil, errors.New("the connection was cut")
			}
		}
	}
	return stops, nil
}

func (l *oddLedger) Read(_ context.Context, after map[string]int) (map[string]schemas.LiveUpdate, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	updates := map[string]schemas.LiveUpdate{}
	for id, n := range after {
		one := schemas.LiveUpdate{Ended: l.ended}
		for _, r := range l.rows {
			if r.First > n {
				one.Rows = append(one.Rows, r)
			}
		}
		updates[id] = one
	}
	return updates, false, nil
}

// News that was written although the write returned an error is not written again: the ledger would
// refuse it, and from then on all news of this process.
func TestSharing_LearnsWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &oddLedger{}
		s := NewSharing(ledger, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		var lost error
		turn := &Live{ID: "t", Log: NewLog(sizeOf), cancel: func(err error) { lost = err }}
		if err := s.begin(ctx, turn); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields("one two three four five six seven eight nine ten")
		for _, word := range words {
			turn.Log.Add(Item{Event: answer.Event{Kind: answer.KindText, Text: word}})
			time.Sleep(70 * time.Millisecond)
		}
		turn.Log.End()
		time.Sleep(time.Minute)
		stop()
		running.Wait()
		var got []string
		n := 0
		for _, r := range ledger.rows {
			if r.First != n+1 {
				t.Errorf("row %d to %d follows %d", r.First, r.Last, n)
			}
			n = r.Last
			items, err := itemsOf(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range items {
				got = append(got, it.Event.Text)
			}
		}
		if !slices.Equal(got, words) || !ledger.ended || lost != nil || len(s.mine) != 0 {
			t.Errorf("the ledger holds %q, ended %v; the turn was cancelled with %v, and %d are held", got, ledger.ended, lost, len(s.mine))
		}
	})
}

package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"molar/schemas"
	"molar/web/turns"
)

// lostTurn is a ledger in which the replica of each turn has died after the first text of the turn.
type lostTurn struct{ turns.Ledger }

func (lostTurn) Find(_ context.Context, owner, id string) (schemas.JournalTurn, bool, error) {
	return schemas.JournalTurn{ID: id, Owner: owner, Ended: true, Lost: true}, true, nil
}

func (lostTurn) Read(_ context.Context, after map[string]int) (map[string]schemas.JournalUpdate, bool, error) {
	told := make(map[string]schemas.JournalUpdate)
	for id := range after {
		told[id] = schemas.JournalUpdate{Rows: []schemas.JournalRow{{First: 1, Last: 1, Body: `["one "]`}}, Ended: true, Lost: true}
	}
	return told, false, nil
}

func (lostTurn) Listen(ctx context.Context, _ func([]string), _ func(bool)) error {
	<-ctx.Done()
	return ctx.Err()
}

// For a turn whose replica has died, the route shows exactly the events that the replica has
// written, also to the first client that asks.
func TestTurns_KnownOfOneThatIsLost(t *testing.T) {
	cfg := config(t, play(nil, start(), done()))
	cfg.Turns = turns.NewSet(nil, nil)
	cfg.Sharing = turns.NewSharing(lostTurn{}, nil, slog.New(slog.DiscardHandler))
	h := build(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	var sharing sync.WaitGroup
	sharing.Go(func() { cfg.Sharing.Run(ctx) })
	defer sharing.Wait()
	defer stop()
	w := serve(h, request(http.MethodGet, "/v1/turns/turn_gone", ""))
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, `"status":"interrupted"`) || !strings.Contains(body, `"untraced":true`) || !strings.Contains(body, `"answer":"one "`) {
		t.Errorf("%d %s", w.Code, body)
	}
	w = serve(h, request(http.MethodGet, "/v1/turns/turn_gone/events", ""))
	if want := "the process that ran this turn is gone; its conversation keeps what was stored until then, as interrupted"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("who follows it is told %s", w.Body)
	}
}

// Every follower of a turn whose replica has died gets an error, even if it has received more
// events than the replica wrote, or connected before the death was known. The error has no number,
// because it is not an event of the turn.
func TestTurns_ReplicaGone(t *testing.T) {
	for _, last := range []string{"0", "1", "2", "50"} {
		t.Run("after "+last, func(t *testing.T) {
			cfg := config(t, play(nil, start(), done()))
			cfg.Turns = turns.NewSet(nil, nil)
			cfg.Sharing = turns.NewSharing(lostTurn{}, nil, slog.New(slog.DiscardHandler))
			ts := live(t, cfg)
			defer ts.Client().CloseIdleConnections()
			ctx, stop := context.WithCancel(t.Context())
			var sharing sync.WaitGroup
			sharing.Go(func() { cfg.Sharing.Run(ctx) })
			defer sharing.Wait()
			defer stop()
			for _, when := range []string{"as it runs", "once its end is known"} {
				told := readAll(t, get(t, ts.Client(), ts.URL+"/v1/turns/turn_gone/events", "Last-Event-ID", last))
				if !strings.Contains(told, `"turn_interrupted"`) || strings.Contains(told, "one ") != (last == "0") || strings.Contains(told, "id: 2") {
					t.Errorf("%s one is told %q", when, told)
				}
			}
		})
	}
}

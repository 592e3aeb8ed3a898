package responses_test

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"molar/schemas"
	"molar/web"
	"molar/web/turns"
)

// dying is a ledger of turns whose replica runs when it is asked about, and is gone after its
// first words.
type dying struct{ turns.Ledger }

func (dying) Find(_ context.Context, owner, id string) (schemas.LiveTurn, bool, error) {
	return schemas.LiveTurn{ID: id, Owner: owner, Lost: true}, true, nil
}

func (dying) Read(_ context.Context, after map[string]int) (map[string]schemas.LiveUpdate, bool, error) {
	told := make(map[string]schemas.LiveUpdate)
	for id := range after {
		rows := []schemas.LiveRow{{First: 1, Last: 2, Body: `[{"event":{"Kind":"start","Start":{"TurnID":"` + id + `"}}},"one "]`}}
		told[id] = schemas.LiveUpdate{Rows: rows, Ended: true, Lost: true}
	}
	return told, false, nil
}

func (dying) Listen(ctx context.Context, _ func([]string), _ func(bool)) error {
	<-ctx.Done()
	return ctx.Err()
}

func (dying) Reap(context.Context) ([]string, error)        { return nil, nil }
func (dying) Begin(context.Context, schemas.LiveTurn) error { return nil }

// Whoever goes on at another replica is told that the response failed, also one who has seen
// more of it, or as much, than the replica that is gone left behind.
func TestBackground_LostAfterwards(t *testing.T) {
	all := &kept{}
	before := serveWith(t, slow(nil), func(cfg *web.Config) { cfg.Responses = all })
	path := "/v1/responses/" + id(before.create(`{"input":"x","background":true}`)) + "?stream=true"
	open := func() *host {
		sharing := turns.NewSharing(dying{}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { sharing.Run(ctx) })
		t.Cleanup(running.Wait)
		t.Cleanup(stop)
		return serveWith(t, slow(nil), func(cfg *web.Config) { cfg.Responses, cfg.Sharing = all, sharing })
	}
	whole := open().events(http.MethodGet, path, "")
	last := whole[len(whole)-1]
	if len(whole) < 5 || last["type"] != "response.failed" || at(last, "response", "error", "code") != "turn_interrupted" {
		t.Fatalf("without a number: %v, %v", types(whole), last)
	}
	for seen := range len(whole) + 5 {
		host := open()
		for range 2 { // also once the end is here
			rest := host.events(http.MethodGet, path+"&starting_after="+strconv.Itoa(seen), "")
			if len(rest) == 0 {
				t.Errorf("after event %d nothing was told", seen)
				continue
			}
			first, end := rest[0], rest[len(rest)-1]
			if n := first["sequence_number"].(float64); int(n) <= seen { //nolint:forcetypeassert // as the schema says
				t.Errorf("after event %d event %v was told", seen, n)
			}
			if end["type"] != "response.failed" {
				t.Errorf("after event %d: %v", seen, types(rest))
			}
		}
	}
	// Who reads it then finds what that replica had told.
	told := open().get(id(last["response"].(map[string]any))) //nolint:forcetypeassert // as the schema says
	if text := at(told, "output", 0, "content", 0, "text"); text != "one " || at(told, "error", "message") != "the process that ran this turn is gone; its conversation keeps nothing of it" {
		t.Errorf("read, it is %v", told)
	}
}

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

// dyingReplica is a ledger of turns whose replica runs when it is first asked about, and has died
// after the first words of the turn.
type dyingReplica struct{ turns.Ledger }

func (dyingReplica) Find(_ context.Context, owner, id string) (schemas.JournalTurn, bool, error) {
	return schemas.JournalTurn{ID: id, Owner: owner, Lost: true}, true, nil
}

func (dyingReplica) Read(_ context.Context, after map[string]int) (map[string]schemas.JournalUpdate, bool, error) {
	updates := make(map[string]schemas.JournalUpdate)
	for id := range after {
		rows := []schemas.JournalRow{{First: 1, Last: 2, Body: `[{"event":{"Kind":"start","Start":{"TurnID":"` + id + `"}}},"one "]`}}
		updates[id] = schemas.JournalUpdate{Rows: rows, Ended: true, Lost: true}
	}
	return updates, false, nil
}

func (dyingReplica) Listen(ctx context.Context, _ func([]string), _ func(bool)) error {
	<-ctx.Done()
	return ctx.Err()
}

// A client that follows a response on another replica gets its failure, even if it has received as
// many events as the dead replica wrote, or more.
func TestBackground_LostAfterwards(t *testing.T) {
	all := &sharedStore{}
	before := serveWith(t, slow(nil), func(cfg *web.Config) { cfg.Responses = all })
	path := "/v1/responses/" + id(before.create(`{"input":"x","background":true}`)) + "?stream=true"
	open := func() *host {
		sharing := turns.NewSharing(dyingReplica{}, nil, slog.New(slog.DiscardHandler))
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
		for range 2 { // the second time, the last events are already here
			rest := host.events(http.MethodGet, path+"&starting_after="+strconv.Itoa(seen), "")
			if len(rest) == 0 {
				t.Errorf("after event %d nothing was sent", seen)
				continue
			}
			first, end := rest[0], rest[len(rest)-1]
			if n := first["sequence_number"].(float64); int(n) <= seen { //nolint:forcetypeassert // as the schema says
				t.Errorf("after event %d event %v was sent", seen, n)
			}
			if end["type"] != "response.failed" {
				t.Errorf("after event %d: %v", seen, types(rest))
			}
		}
	}
	// Reading the response then returns the text that the dead replica wrote.
	response := open().get(id(last["response"].(map[string]any))) //nolint:forcetypeassert // as the schema says
	if text := at(response, "output", 0, "content", 0, "text"); text != "one " || at(response, "error", "message") != "the process that ran this turn is gone; its conversation keeps nothing of it" {
		t.Errorf("read, it is %v", response)
	}
}

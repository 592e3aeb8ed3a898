package web_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"molar/agent"
	"molar/schemas"
	"molar/web/turns"
)

// asksLedger is what two replicas share of pending approvals.
type asksLedger struct {
	turns.Ledger
	mu       sync.Mutex
	asks     []schemas.LiveAsk
	outcomes map[string]string
}

func (l *asksLedger) Listen(ctx context.Context, _ func([]string), _ func(bool)) error {
	<-ctx.Done()
	return ctx.Err()
}
func (l *asksLedger) Wake(context.Context, ...string) error { return nil }

func (l *asksLedger) Ask(_ context.Context, a schemas.LiveAsk) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks = append(l.asks, a)
	return nil
}
func (l *asksLedger) Settle(context.Context, string) error { return nil }

func (l *asksLedger) list(is func(schemas.LiveAsk) bool) (all []schemas.LiveAsk, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.asks {
		if is(a) {
			all = append(all, a)
		}
	}
	return all, nil
}

func (l *asksLedger) Waiting(_ context.Context, owner string) ([]schemas.LiveAsk, error) {
	return l.list(func(a schemas.LiveAsk) bool { return a.Owner == owner && a.Decision == "" })
}

func (l *asksLedger) ForApprovers(context.Context) ([]schemas.LiveAsk, error) {
	return l.list(func(a schemas.LiveAsk) bool { return a.Decision == "" })
}

func (l *asksLedger) Decided(context.Context) ([]schemas.LiveAsk, error) {
	return l.list(func(a schemas.LiveAsk) bool { return a.Decision != "" && l.outcomes[a.ID] == "" })
}

func (l *asksLedger) Decide(_ context.Context, id, decision string) (bool, error) {
	return l.set(id, decision), nil
}

func (l *asksLedger) Reopen(_ context.Context, id string) error {
	l.set(id, "")
	return nil
}

// set stores a decision, and forgets its outcome.
func (l *asksLedger) set(id, decision string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.outcomes, id)
	for i := range l.asks {
		if l.asks[i].ID == id && (l.asks[i].Decision == "" || decision == "") {
			l.asks[i].Decision = decision
			return true
		}
	}
	return false
}

func (l *asksLedger) Answer(_ context.Context, id, outcome string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[id] = outcome
	return nil
}

func (l *asksLedger) Outcome(_ context.Context, id string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcomes[id], nil
}

// At another replica too an approver decides, and the person who asks and everybody else do not.
func TestApprovers_AnotherReplica(t *testing.T) {
	ledger := &asksLedger{outcomes: map[string]string{}}
	ended := make(chan agent.Decision, 1)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var urls []string
	var clients []*http.Client
	for range 2 {
		cfg := approverConfig(t, resetTurn(ended))
		cfg.Sharing = turns.NewSharing(ledger, nil, slog.New(slog.DiscardHandler))
		ts := live(t, cfg)
		running.Go(func() { cfg.Sharing.Run(ctx) })
		urls, clients = append(urls, ts.URL), append(clients, ts.Client())
		defer ts.Client().CloseIdleConnections()
	}
	bob, carol := []string{"X-Who", "bob", "X-Groups", "staff"}, []string{"X-Who", "carol", "X-Groups", "it-admins"}
	resp := send(t.Context(), t, clients[0], urls[0], `{"stream":true,"molar":{"events":true},`+question+`}`, bob...)
	a := readApproval(t, bufio.NewScanner(resp.Body))
	yes := fmt.Sprintf(`{"token":%q,"decision":"approve"}`, a.Token)
	for _, tt := range []struct {
		who    []string
		body   string
		status int
	}{
		{[]string{"X-Who", "dan", "X-Groups", "staff"}, yes, 404},
		{bob, yes, 403},
		{carol, `{"token":"AAAA","decision":"approve"}`, 403},
		{carol, yes, 200},
		{carol, yes, 404},
	} {
		if status, code := decide(t, urls[1], clients[1], a.ID, tt.body, tt.who...); status != tt.status {
			t.Errorf("%v sends %s: %d %s, want %d", tt.who, tt.body, status, code, tt.status)
		}
	}
	if d := <-ended; !d.Allowed || d.By != "person:carol" {
		t.Errorf("decided %+v", d)
	}
	_ = readAll(t, resp)
}

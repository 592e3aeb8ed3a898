package host

import (
	"context"

	"molar/internal/store/live"
	"molar/web/turns"
)

// Ledger shares turns over PostgreSQL.
type Ledger struct{ *live.Store }

var _ turns.Ledger = Ledger{}

// Begin implements [turns.Ledger].
func (l Ledger) Begin(ctx context.Context, t turns.LedgerTurn) error {
	return l.Store.Begin(ctx, live.Turn(t))
}

// Find implements [turns.Ledger].
func (l Ledger) Find(ctx context.Context, owner, id string) (turns.LedgerTurn, bool, error) {
	t, ok, err := l.Store.Find(ctx, owner, id)
	return turns.LedgerTurn(t), ok, err
}

// Tell implements [turns.Ledger].
func (l Ledger) Tell(ctx context.Context, news []turns.LedgerNews) (map[string]bool, error) {
	all := make([]live.News, len(news))
	for i, n := range news {
		all[i] = live.News{TurnID: n.TurnID, ConversationID: n.ConversationID, Ended: n.Ended}
		for _, r := range n.Rows {
			all[i].Rows = append(all[i].Rows, live.Row(r))
		}
	}
	return l.Store.Tell(ctx, all)
}

// Read implements [turns.Ledger].
func (l Ledger) Read(ctx context.Context, after map[string]int) (map[string]turns.LedgerTold, bool, error) {
	told, more, err := l.Store.Read(ctx, after)
	all := make(map[string]turns.LedgerTold, len(told))
	for id, t := range told {
		one := turns.LedgerTold{Ended: t.Ended, Lost: t.Lost}
		for _, r := range t.Rows {
			one.Rows = append(one.Rows, turns.LedgerRow(r))
		}
		all[id] = one
	}
	return all, more, err
}

// Listen implements [turns.Ledger].
func (l Ledger) Listen(ctx context.Context, woken func([]string), deaf func(bool)) error {
	return l.Store.Listen(ctx, live.Listener{Woken: woken, Deaf: deaf})
}

// Ask implements [turns.Ledger].
func (l Ledger) Ask(ctx context.Context, a turns.LedgerAsk) error {
	return l.Store.Ask(ctx, live.Approval(a))
}

// Waiting implements [turns.Ledger].
func (l Ledger) Waiting(ctx context.Context, owner string) ([]turns.LedgerAsk, error) {
	return asks(l.Store.Waiting(ctx, owner))
}

// Decided implements [turns.Ledger].
func (l Ledger) Decided(ctx context.Context) ([]turns.LedgerAsk, error) {
	return asks(l.Store.Decided(ctx))
}

func asks(found []live.Approval, err error) ([]turns.LedgerAsk, error) {
	all := make([]turns.LedgerAsk, len(found))
	for i, a := range found {
		all[i] = turns.LedgerAsk(a)
	}
	return all, err
}

package host

import (
	"context"
	"slices"

	"molar/internal/budget"
	"molar/internal/config"
	"molar/internal/store"
	"molar/providers"
	"molar/schemas"
)

// A meter wraps the provider of an endpoint, so that its calls are charged.
type meter = func(providers.Provider, func(model string) schemas.Price) providers.Provider

// openBook opens the book of budgets and usage.
func (h *Host) openBook() (*budget.Book, error) {
	return budget.New(budget.Config{Budgets: h.Config.Budgets, Store: h.DB, Ratio: h.Telemetry.BudgetUsed, Logger: h.Log})
}

// groupsOf returns the groups of an owner for a call that is part of no turn: those of their last turn
// here, else those in which a person was seen last, or those of a key.
func (h *Host) groupsOf(ctx context.Context, owner string) ([]string, error) {
	if groups, ok := h.Book.Groups(owner); ok {
		return groups, nil
	}
	known := h.Config.Groups.Names()
	if len(known) == 0 || owner == "" || schemas.IsVisitor(owner) {
		return nil, nil
	}
	named, err := h.memberships(ctx, owner)
	return slices.DeleteFunc(named, func(name string) bool { return !slices.Contains(known, name) }), err
}

func (h *Host) memberships(ctx context.Context, owner string) ([]string, error) {
	if schemas.IsPersonOwner(owner) {
		p, _, err := h.DB.Person(ctx, owner)
		return p.Groups, err
	}
	if at := slices.IndexFunc(h.Config.APIKeys, func(k config.APIKey) bool { return k.ID() == owner }); at >= 0 {
		return slices.Clone(h.Config.APIKeys[at].Groups), nil
	}
	stored, err := h.DB.Keys(ctx)
	if at := slices.IndexFunc(stored, func(k store.APIKey) bool { return k.ID == owner }); at >= 0 {
		return stored[at].Groups, err
	}
	return nil, err
}

package host

import (
	"molar/internal/budget"
	"molar/providers"
	"molar/schemas"
)

// A meter wraps the provider of an endpoint, so that its calls are charged.
type meter = func(providers.Provider, func(model string) schemas.Price) providers.Provider

// openBook opens the book of budgets and usage.
func (h *Host) openBook() (*budget.Book, error) {
	return budget.New(budget.Config{Budgets: h.Config.Budgets, Store: h.DB, Ratio: h.Telemetry.BudgetUsed, Logger: h.Log})
}

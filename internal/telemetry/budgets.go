package telemetry

// BudgetUsed records the used share of a budget of the whole host or of a group.
func (t *Telemetry) BudgetUsed(budget string, share float64) {
	if t != nil && t.metrics != nil {
		t.metrics.budgets.WithLabelValues(budget).Set(share)
	}
}

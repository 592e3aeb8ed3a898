package schemas

import "time"

// A Budget is the most that may be used in a period; zero Tokens or Money mean no limit of that kind.
type Budget struct {
	Per    string  `yaml:"per" jsonschema:"enum=day,enum=month" jsonschema_description:"The period, in UTC: day or month."`
	Tokens int     `yaml:"tokens" jsonschema:"minimum=0" jsonschema_description:"Most tokens in the period, of prompts and answers together."`
	Money  float64 `yaml:"money" jsonschema:"minimum=0" jsonschema_description:"Most money in the period, in the currency of the prices. Every endpoint then needs a price."`
}

// The periods of a [Budget].
const (
	PerDay   = "day"
	PerMonth = "month"
)

// IsSet reports whether the budget limits anything.
func (b Budget) IsSet() bool { return b.Tokens > 0 || b.Money > 0 }

// Period returns the beginning of the period that holds a time, and its end.
func (b Budget) Period(at time.Time) (begin, end time.Time) {
	year, month, day := at.UTC().Date()
	if b.Per == PerDay {
		begin = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return begin, begin.AddDate(0, 0, 1)
	}
	begin = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return begin, begin.AddDate(0, 1, 0)
}

// A NamedBudget is a budget and the name under which its use is counted.
type NamedBudget struct {
	Name string
	Budget
}

// A BudgetSum is a number of tokens and their cost.
type BudgetSum struct {
	Tokens int64
	Cost   Cost
}

// A BudgetHold is what a running call has reserved.
type BudgetHold struct {
	ID string
	// Periods are the beginnings of the periods, by the names of the budgets.
	Periods map[string]time.Time
	// Used are the shares of the budgets that others have used or reserved, by name; they are set after a refusal too.
	Used map[string]float64
	// Warn are the names of the budgets that reached their warning for the first time in the period, and
	// whose warning was not said. Settling makes them warn again.
	Warn []string
}

// A BudgetRefusal is why a call must not begin: a budget is used up.
type BudgetRefusal struct {
	Budget NamedBudget
	// Ends is the end of the budget's period, and Now the time of the refusal.
	Ends, Now time.Time
	// Held is set if running calls have reserved the rest, so that some of it may soon be free.
	Held bool
}

// A UsageLine is what model calls of one kind used on one day.
type UsageLine struct {
	// Day is a date in UTC, such as 2026-01-31.
	Day string `json:"day"`
	// Owner is empty for the operator, and for people who were erased.
	Owner     string   `json:"owner"`
	Groups    []string `json:"groups"`
	Assistant string   `json:"assistant"`
	Provider  string   `json:"provider"`
	Model     string   `json:"model"`
	// Since is when the earliest turn of these calls began: if the owner was erased since, they are
	// nobody's. It is not stored.
	Since time.Time `json:"-"`
	UsageSum
}

// A UsageSum adds up what model calls used.
type UsageSum struct {
	Calls      int64 `json:"calls"`
	Prompt     int64 `json:"prompt_tokens"`
	Cached     int64 `json:"cached_tokens"`
	Completion int64 `json:"completion_tokens"`
	Cost       Cost  `json:"cost"`
}

// Add returns the sum of both.
func (s UsageSum) Add(o UsageSum) UsageSum {
	return UsageSum{s.Calls + o.Calls, s.Prompt + o.Prompt, s.Cached + o.Cached, s.Completion + o.Completion, s.Cost + o.Cost}
}

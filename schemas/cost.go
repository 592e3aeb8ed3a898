package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Cost is an amount of money in billionths of a currency's unit: that of the [Price], or of the
// service that reported it. Zero means that it is not known. Sums are exact.
type Cost int64

// costUnit is one unit of the currency.
const costUnit = 1e9

// NewCost returns the cost of an amount in the currency's unit. It is zero for an amount that is not
// above zero, or too large.
func NewCost(amount float64) Cost {
	if !(amount > 0) || amount > 1e6 {
		return 0
	}
	return Cost(math.Round(amount * costUnit))
}

// Amount returns the cost in the currency's unit.
func (c Cost) Amount() float64 { return float64(c) / costUnit }

// String returns the amount as a decimal number without trailing zeros, such as "0.00125".
func (c Cost) String() string {
	whole, rest := int64(c)/costUnit, int64(c)%costUnit
	if rest == 0 {
		return strconv.FormatInt(whole, 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%09d", whole, rest), "0")
}

// MarshalJSON returns the amount as a number.
func (c Cost) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON reads an amount.
func (c *Cost) UnmarshalJSON(data []byte) error {
	var amount float64
	if err := json.Unmarshal(data, &amount); err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	*c = NewCost(amount)
	return nil
}

// A Price is what a model costs, for a million tokens, in the currency of the person who sets it.
type Price struct {
	Input float64 `yaml:"input" jsonschema:"minimum=0" jsonschema_description:"For a million tokens of the prompt."`
	// Cached nil means Input.
	Cached *float64 `yaml:"cached" jsonschema:"minimum=0" jsonschema_description:"For a million tokens of the prompt that come from the service's cache (default input)."`
	Output float64  `yaml:"output" jsonschema:"minimum=0" jsonschema_description:"For a million tokens of the answer, thinking included."`
}

// IsSet reports whether any of its figures is set.
func (p Price) IsSet() bool { return p != (Price{}) }

// Of returns the cost of a usage; zero if the price is not set.
func (p Price) Of(u Usage) Cost {
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	const million = 1e6
	fromCache := min(u.CachedTokens, u.PromptTokens)
	return NewCost((float64(u.PromptTokens-fromCache)*p.Input + float64(fromCache)*cached + float64(u.CompletionTokens)*p.Output) / million)
}

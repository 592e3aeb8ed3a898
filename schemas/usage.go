package schemas

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A UsageRow is what model calls with one thing in common used: a person, a model.
type UsageRow struct {
	Name string `json:"name"`
	UsageSum
}

// UsageBy returns what usage can be added up by.
func UsageBy() []string {
	return []string{"person", "key", "group", "assistant", "model", "provider", "day"}
}

// SumUsage adds up usage by one of [UsageBy], the dearest first. What has no such thing is left out, as the calls of
// keys are by person; a member of several groups counts in each.
func SumUsage(lines []UsageLine, by string) []UsageRow {
	sums := map[string]UsageSum{}
	for _, l := range lines {
		for _, name := range l.names(by) {
			sums[name] = sums[name].Add(l.UsageSum)
		}
	}
	rows := make([]UsageRow, 0, len(sums))
	for name, sum := range sums {
		rows = append(rows, UsageRow{name, sum})
	}
	slices.SortFunc(rows, func(a, b UsageRow) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Prompt+b.Completion, a.Prompt+a.Completion), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

func (l UsageLine) names(by string) []string {
	person := IsPersonOwner(l.Owner)
	switch by {
	case "person":
		if !person && l.Owner != "" {
			return nil
		}
		return []string{l.Owner}
	case "key":
		if person || l.Owner == "" {
			return nil
		}
		return []string{l.Owner}
	case "group":
		return l.Groups
	case "assistant":
		return []string{l.Assistant}
	case "model":
		return []string{l.Model}
	case "provider":
		return []string{l.Provider}
	default:
		return []string{l.Day}
	}
}

// IsPersonOwner reports whether an owner is somebody who signed in, and not a key.
func IsPersonOwner(owner string) bool {
	return strings.HasPrefix(owner, "person:") || strings.HasPrefix(owner, "oidc:")
}

// WriteUsageCSV writes rows as CSV with a header. A name that a spreadsheet would run as a formula is quoted.
func WriteUsageCSV(out io.Writer, by string, rows []UsageRow) error {
	to := csv.NewWriter(out)
	if err := to.Write([]string{by, "calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost"}); err != nil {
		return fmt.Errorf("write the usage: %w", err)
	}
	for _, r := range rows {
		name := r.Name
		if strings.ContainsAny(name[:min(len(name), 1)], "=+-@\t\r") {
			name = "'" + name
		}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		if err := to.Write([]string{name, number(r.Calls), number(r.Prompt), number(r.Cached), number(r.Completion), r.Cost.String()}); err != nil {
			return fmt.Errorf("write the usage: %w", err)
		}
	}
	to.Flush()
	return to.Error()
}

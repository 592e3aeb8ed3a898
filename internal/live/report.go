package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/providers"
	"molar/schemas"
)

// A Level is how well a model did.
type Level string

// The levels. Weak is what works now and then, or worse than it should. Skipped is what cannot be
// tried with this model.
const (
	OK      Level = "ok"
	Skipped Level = "skipped"
	Weak    Level = "weak"
	Fails   Level = "fails"
)

func rank(l Level) int { return slices.Index([]Level{OK, Skipped, Weak, Fails}, l) }

// A Result is the result of one check.
type Result struct {
	Check string `json:"check"`
	Level Level  `json:"result"`
	// Seen is what the model did, in a few words.
	Seen string `json:"seen"`
	// Passed of Tries went well.
	Passed int `json:"passed"`
	Tries  int `json:"tries"`
	// Verdict is what that means for a person, and Set what to change in the config; both may be
	// empty.
	Verdict string        `json:"verdict,omitempty"`
	Set     string        `json:"set,omitempty"`
	Calls   int           `json:"calls"`
	Took    time.Duration `json:"-"`
	Usage   schemas.Usage `json:"usage"`

	tools bool
}

// MarshalJSON adds the time in milliseconds.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal(struct {
		plain
		TookMS int64 `json:"took_ms"`
	}{plain(r), r.Took.Milliseconds()})
}

// A Report is the result of a trial.
type Report struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	SmallModel string `json:"small_model"`
	// Usable is set if an assistant with tools can work with the model.
	Usable bool `json:"usable"`
	// Verdict holds sentences, the overall one first, and Set what to change in the config.
	Verdict []string `json:"verdict"`
	Set     []string `json:"set,omitempty"`
	// Checks are the results; Planned is how many there would have been.
	Checks  []Result      `json:"checks"`
	Planned int           `json:"planned"`
	Calls   int           `json:"calls"`
	Usage   schemas.Usage `json:"usage"`
}

// Conclude returns the report about a route's models from the results of the trial, some of which
// may be missing.
func (t *Trial) Conclude(route providers.Route, results []Result) Report {
	r := Report{Model: route.Model, SmallModel: route.SmallModel, Checks: results, Planned: len(t.checks)}
	if route.Provider != nil {
		r.Provider = route.Provider.Name()
	}
	level := make(map[string]Level)
	var weak, failed []string
	for _, c := range results {
		r.Calls += c.Calls
		r.Usage = r.Usage.Add(c.Usage)
		level[c.Check] = c.Level
		switch {
		case !c.tools:
		case c.Level == Weak:
			weak = append(weak, c.Check)
		case c.Level == Fails:
			failed = append(failed, c.Check)
		}
		r.Verdict = addNew(r.Verdict, c.Verdict)
		r.Set = addNew(r.Set, c.Set)
	}
	r.Usable = !slices.ContainsFunc(t.checks, func(c check) bool {
		return c.vital && level[c.name] != OK && level[c.name] != Weak
	})
	if len(results) < len(t.checks) {
		r.Verdict = append([]string{fmt.Sprintf("stopped after %d of %d checks", len(results), len(t.checks))}, r.Verdict...)
	}
	if words := overall(r.Usable, weak, failed); words != "" {
		r.Verdict = append([]string{words}, r.Verdict...)
	}
	return r
}

// addNew appends a text that is neither empty nor in the list.
func addNew(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// overall returns the sentence about tools; it is empty if nothing is known.
func overall(usable bool, weak, failed []string) string {
	switch {
	case !usable && len(failed) == 0:
		return ""
	case !usable:
		return "not fit for tools: " + strings.Join(failed, ", ")
	case len(failed) > 0:
		return "usable for tools, but not for: " + strings.Join(append(failed, weak...), ", ")
	case len(weak) > 0:
		return "fine for tools, but for: " + strings.Join(weak, ", ")
	}
	return "fine for tools"
}

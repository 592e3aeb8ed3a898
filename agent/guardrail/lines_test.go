package guardrail_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"molar/agent/guardrail"
)

// A line is one labelled message of testdata.
type line struct {
	Text     string `json:"text"`
	Lang     string `json:"lang"`
	InDomain bool   `json:"in_domain"`
	Kind     string `json:"kind"`
}

func readLines(t *testing.T) []line {
	t.Helper()
	data, err := os.ReadFile("testdata/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for text := range strings.Lines(string(data)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// lastExchange is the turn that the follow-ups of testdata lean on.
func lastExchange(lang string) *guardrail.Exchange {
	if lang == "vi" {
		return &guardrail.Exchange{Question: "Niềng răng có tốt không?", Answer: "Niềng răng giúp đều răng và dễ vệ sinh hơn."}
	}
	return &guardrail.Exchange{Question: "Are braces worth it?", Answer: "Braces straighten teeth and make them easier to clean."}
}

type tally struct{ n, right int }

func (c *tally) add(right bool) {
	c.n++
	if right {
		c.right++
	}
}

func (c tally) share() float64 { return float64(c.right) / float64(max(c.n, 1)) }

func TestGuard_LabelledLinesInCodeAlone(t *testing.T) {
	guard := dental(t)
	lines := readLines(t)
	if len(lines) < 200 {
		t.Fatalf("only %d lines, want at least 200", len(lines))
	}
	var all, recall, sure, injections tally
	groups := map[string]*tally{}
	for _, l := range lines {
		var last *guardrail.Exchange
		if l.Kind == "follow-up" {
			last = lastExchange(l.Lang)
		}
		v := guard.Decide(t.Context(), l.Text, l.Lang, last, nil)
		right := v.Pass == l.InDomain
		all.add(right)
		if l.InDomain {
			recall.add(right)
		}
		if v.Sure {
			sure.add(right)
		}
		if l.Kind == "adversarial" {
			injections.add(right)
		}
		for _, key := range []string{l.Kind, l.Lang} {
			if groups[key] == nil {
				groups[key] = &tally{}
			}
			groups[key].add(right)
		}
		if !right {
			t.Logf("wrong: %+v: %+v", l, v)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		t.Logf("%-12s n %3d accuracy %.3f", key, groups[key].n, groups[key].share())
	}
	t.Logf("n %d accuracy %.3f in-domain recall %.3f sure share %.3f precision %.3f",
		all.n, all.share(), recall.share(), float64(sure.n)/float64(all.n), sure.share())
	if all.share() < 0.93 {
		t.Errorf("accuracy %.3f, want at least 0.93", all.share())
	}
	if recall.share() < 0.95 {
		t.Errorf("in-domain recall %.3f, want at least 0.95", recall.share())
	}
	if sure.share() < 0.99 {
		t.Errorf("sure decisions are right in %.3f, want at least 0.99", sure.share())
	}
	if wrong := injections.n - injections.right; wrong > 1 {
		t.Errorf("%d of %d injections admitted, want at most 1", wrong, injections.n)
	}
}

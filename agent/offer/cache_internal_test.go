package offer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// large returns tools that are offered in brief where they do not all fit.
func large(n int) []schemas.Tool {
	tools := catalogue(numbered(n)...)
	for i := range tools {
		tools[i].Description = fmt.Sprintf("Does thing %d. %s", i, strings.Repeat("It says more of it. ", 50))
		tools[i].InputSchema = fmt.Appendf(nil, `{"type":"object","properties":{"a%d":{"type":"string","description":%q}},"required":["a%[1]d"]}`, i, strings.Repeat("Which one of them. ", 100))
	}
	return tools
}

// Turns of several assistants, windows and clients, one after the other, index the tools and shorten them once
// for each, and are offered the same as if theirs were the only ones.
func TestChooser_TurnsThatAlternate(t *testing.T) {
	indexed := 0
	c := New(Config{Most: 128, Rank: func(tools []schemas.ToolInfo) func(string) []Ranked {
		indexed++
		return byWords(tools)
	}})
	type turn struct {
		tools []schemas.Tool
		want  Want
	}
	all := large(60)
	asked := []Question{called("t004", "s__t030"), called("t005")}
	turns := []turn{
		{all, Want{Bytes: 20_000, Questions: asked}},
		{all, Want{Bytes: 12_000, Questions: asked}},
		{all, Want{Bytes: 20_000, Questions: asked, Client: Infos(catalogue("own"))}},
		{all[:40], Want{Bytes: 20_000, Questions: asked}},
		{all[5:], Want{Bytes: 12_000, Window: 11_000, Questions: asked}},
	}
	first := make([]Choice, len(turns))
	for round := range 3 {
		for i, turn := range turns {
			got := c.fit(turn.want, turn.tools)
			alone := New(Config{Most: 128, Rank: byWords}).fit(turn.want, turn.tools)
			for what, diff := range map[string]string{
				"offered": cmp.Diff(names(alone.Offered), names(got.Offered)),
				"shown":   cmp.Diff(alone.Shown, got.Shown),
				"left":    cmp.Diff(names(alone.Rest), names(got.Rest)),
			} {
				if diff != "" {
					t.Errorf("round %d, turn %d: other tools are %s: %s", round, i, what, diff)
				}
			}
			if round == 0 {
				first[i] = got
				continue
			}
			for j, form := range got.Shown {
				if &form.InputSchema[0] != &first[i].Shown[j].InputSchema[0] {
					t.Fatalf("round %d, turn %d: %s was shortened anew", round, i, form.Name)
				}
			}
		}
	}
	if indexed != 3 {
		t.Errorf("three lists of tools were indexed %d times", indexed)
	}
	for n := range 3 * maxCached {
		c.fit(Want{Bytes: 2000, Questions: asked}, all[n:])
	}
	if n := max(len(c.ranks.held), len(c.shown.held)); n > maxCached {
		t.Errorf("what was computed for %d lists is kept, want %d at most", n, maxCached)
	}
}

// A turn does not wait until the tools of another are indexed.
func TestChooser_TurnsBesideEachOther(t *testing.T) {
	began, done := make(chan struct{}), make(chan struct{})
	tools := large(60)
	c := New(Config{Most: 128, Rank: func(infos []schemas.ToolInfo) func(string) []Ranked {
		if len(infos) == len(tools) {
			close(began)
			<-done
		}
		return byWords(infos)
	}})
	want := Want{Bytes: 12_000, Questions: []Question{called("t004")}}
	ended := make(chan Choice)
	go func() { ended <- c.fit(want, tools) }()
	<-began
	if got := c.fit(want, tools[:40]); len(got.Offered) == 0 {
		t.Error("no tool is offered")
	}
	close(done)
	if got := <-ended; len(got.Offered) == 0 {
		t.Error("no tool is offered")
	}
}

// BenchmarkChooser is the choice of a turn among many tools of 1 and 2 KiB, for two assistants in turn.
func BenchmarkChooser(b *testing.B) {
	tools := large(2000)
	for i := range tools {
		var words strings.Builder
		for n := range 120 {
			fmt.Fprintf(&words, "word%d ", (i*n)%7919)
		}
		tools[i].Description = words.String()
	}
	c := New(Config{Rank: Ranking(), Most: 128})
	asked := []Question{called("Do thing 4")}
	turn := func(n int) { c.fit(Want{Bytes: []int{32_000, 16_000}[n%2], Questions: asked}, tools[n%2:]) }
	turn(0)
	turn(1)
	for n := 0; b.Loop(); n++ {
		turn(n)
	}
}

package offer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// byWords scores a tool by the words of the question that stand in its name.
func byWords(tools []schemas.ToolInfo) func(string) []Ranked {
	return func(question string) []Ranked {
		var ranked []Ranked
		for _, t := range tools {
			score := 0.0
			for w := range strings.FieldsSeq(question) {
				if strings.Contains(t.Name, w) {
					score++
				}
			}
			ranked = append(ranked, Ranked{Name: t.Name, Score: score})
		}
		slices.SortStableFunc(ranked, func(a, b Ranked) int { return int(b.Score - a.Score) })
		return ranked
	}
}

// catalogue makes tools of 100 bytes each.
func catalogue(names ...string) []schemas.Tool {
	var tools []schemas.Tool
	for _, n := range names {
		info := schemas.ToolInfo{Name: "s__" + n, Server: "s", ToolName: n, InputSchema: json.RawMessage(`{}`)}
		info.Description = strings.Repeat("x", 100-len(info.Name)-2)
		tools = append(tools, schemas.Tool{ToolInfo: info})
	}
	return tools
}

func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("t%03d", i))
	}
	return names
}

func names(tools []schemas.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.ToolName)
	}
	return out
}

// room for so many tools of the catalogue beside the finder.
func room(n int) int { return 100*n + Size([]schemas.ToolInfo{findTools(catalogue("a"))}) }

func called(question string, tools ...string) Asked {
	a := Asked{Question: question}
	for _, t := range tools {
		a.Calls = append(a.Calls, schemas.ToolCall{Function: schemas.FunctionCall{Name: t, Arguments: "{}"}})
	}
	return a
}

func TestFit(t *testing.T) {
	c := New(Config{Rank: byWords, Most: 128})
	all := strings.Split("abcdefghijklmnopqrst", "")
	tools := catalogue(all...)
	found := called("more", FindTools)
	found.Calls[0].Function.Arguments = `{"words":"h"}`
	for name, tc := range map[string]struct {
		want     Want
		offered  []string
		complete bool
	}{
		"all fit":                       {Want{Bytes: 2000, Asked: []Asked{called("a")}}, all, true},
		"no bound":                      {Want{Asked: []Asked{called("a")}}, all, true},
		"the best, in their order":      {Want{Bytes: room(4), Asked: []Asked{called("h c")}}, []string{"a", "c", "h"}, false},
		"a later question brings one":   {Want{Bytes: room(4), Asked: []Asked{called("a"), called("f")}}, []string{"a", "b", "c", "f"}, false},
		"a called one stays":            {Want{Bytes: room(4), Asked: []Asked{called("a", "s__g"), called("b")}}, []string{"a", "b", "c", "g"}, false},
		"so does one by its own name":   {Want{Bytes: room(4), Asked: []Asked{called("a", "g"), called("b")}}, []string{"a", "b", "c", "g"}, false},
		"a found one stays":             {Want{Bytes: room(4), Asked: []Asked{found, called("b")}}, []string{"a", "b", "c", "h"}, false},
		"made anew when it is full":     {Want{Bytes: room(4), Asked: []Asked{called("a", "s__g"), called("f")}}, []string{"g", "a", "f"}, false},
		"a tool that is gone is passed": {Want{Bytes: room(4), Asked: []Asked{called("a", "s__gone"), called("b")}}, []string{"a", "b", "c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.fit(tc.want, tools)
			if diff := cmp.Diff(tc.offered, names(got.Offered)); diff != "" {
				t.Error(diff)
			}
			if (got.Finder == nil) != tc.complete || len(got.Offered)+len(got.Rest) != len(tools) {
				t.Errorf("finder %v, %d offered and %d left", got.Finder, len(got.Offered), len(got.Rest))
			}
		})
	}
}

// Over conversations at random the offer of a turn begins with that of the turn before, or
// is made anew because it was full; it is never larger than its room, and what was called in
// the turn before is in it.
func TestFit_growsThroughAConversation(t *testing.T) {
	c := New(Config{Rank: byWords, Most: 40})
	tools := catalogue(numbered(150)...)
	chance := rand.New(rand.NewPCG(7, 7))
	grown, anew := 0, 0
	conversations := 200
	if testing.Short() {
		conversations = 40
	}
	for range conversations {
		var conversation []Asked
		var before []schemas.Tool
		for range 12 {
			question := fmt.Sprintf("t%03d t%03d", chance.IntN(150), chance.IntN(150))
			want := Want{Bytes: room(20), Asked: append(slices.Clone(conversation), Asked{Question: question})}
			got := c.fit(want, tools)
			if len(got.Offered) > 39 || Size(Infos(got.Offered)) > room(20) {
				t.Fatalf("%d tools of %d bytes", len(got.Offered), Size(Infos(got.Offered)))
			}
			if len(conversation) > 0 {
				for _, call := range conversation[len(conversation)-1].Calls {
					if !Has(Infos(got.Offered), call.Function.Name) {
						t.Fatalf("%s was called in the turn before, and is not offered", call.Function.Name)
					}
				}
			}
			if len(before) > 0 && len(got.Offered) >= len(before) && cmp.Equal(names(before), names(got.Offered[:len(before)])) {
				grown++
			} else if len(before) > 0 {
				anew++
			}
			before = got.Offered
			conversation = append(conversation, called(question, got.Offered[chance.IntN(len(got.Offered))].Name))
		}
	}
	t.Logf("%d offers grew, %d were made anew", grown, anew)
	if anew > grown/2 {
		t.Errorf("%d of %d offers were made anew", anew, grown+anew)
	}
}

// Services refuse a request with more than 128 tools: the client's, the finder, what was found and
// what reads on in results count together.
func TestOffer_neverMoreThanServicesTake(t *testing.T) {
	tools := catalogue(numbered(300)...)
	c := New(Config{Rank: byWords, Most: 128})
	for _, client := range []int{0, 1, 100, 126, 127, 128} {
		want := Want{Client: Infos(catalogue(numbered(client)...)), Asked: []Asked{called("t0 t1 t2")}}
		choice := c.fit(want, tools)
		o := Offer{Finder: choice.Finder, Most: 128}
		if choice.Finder != nil {
			o.Tools = append(o.Tools, findTools(tools))
		}
		o.Tools = append(append(o.Tools, Infos(choice.Offered)...), want.Client...)
		if len(choice.Offered)+len(choice.Rest) != len(tools) {
			t.Errorf("%d of the client: %d offered, %d left", client, len(choice.Offered), len(choice.Rest))
		}
		for n := range 30 {
			if o.Finder == nil {
				break
			}
			if _, err := o.Finder.Tool().Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"words":"t%02d"}`, n))); err != nil {
				t.Fatal(err)
			}
			o.Grow(nil)
		}
		if len(o.Tools) > 128 || client < 120 && len(o.Tools) != 128 {
			t.Errorf("%d of the client: %d tools", client, len(o.Tools))
		}
	}
}

func TestFinder(t *testing.T) {
	c := New(Config{Rank: byWords, Most: 128})
	o := Offer{Finder: c.fit(Want{Bytes: room(4), Asked: []Asked{called("a")}}, catalogue(strings.Split("abcdefghijklmnopqrst", "")...)).Finder}
	result, err := o.Finder.Tool().Call(t.Context(), json.RawMessage(`{"words":"h a"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"s__h: xx", "s__a: xx"} {
		if !strings.Contains(result.OutputText(), want) {
			t.Errorf("%q lacks %q", result.OutputText(), want)
		}
	}
	if added := o.Grow(nil); len(added) != 1 || added[0].Name != "s__h" || len(o.Tools) != 1 {
		t.Errorf("added %v", added)
	}
	if added := o.Grow(nil); len(added) != 0 {
		t.Errorf("added again: %v", added)
	}
	if result, err = o.Finder.Tool().Call(t.Context(), json.RawMessage(`{"words":"zzz"}`)); err != nil || !strings.Contains(result.OutputText(), "No tool fits") {
		t.Errorf("%s, %v", result.Output, err)
	}
	many := New(Config{Rank: byWords, Most: 4}).fit(Want{Asked: []Asked{called("x")}}, catalogue(numbered(150)...))
	result, err = many.Finder.Tool().Call(t.Context(), json.RawMessage(`{"words":"t"}`))
	if lines := strings.Split(result.OutputText(), "\n"); err != nil || len(lines) != mostFinds {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

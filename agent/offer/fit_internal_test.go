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

// byWords scores a tool by the words of the question that its name contains.
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

// catalogue returns tools of 100 bytes each.
func catalogue(names ...string) []schemas.Tool {
	var tools []schemas.Tool
	for _, n := range names {
		info := schemas.ToolInfo{Name: "s__" + n, Server: "s", ToolName: n, InputSchema: json.RawMessage(`{}`)}
		info.Description = strings.Repeat("x", 100-len(info.Name)-2)
		tools = append(tools, schemas.Tool{ToolInfo: info})
	}
	return tools
}

// needs returns the schema of a tool whose required argument takes about so many bytes.
func needs(bytes int) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"kind":{"enum":["` + strings.Repeat("x", bytes) + `"]}},"required":["kind"]}`)
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

// room returns the room for n tools of the catalogue and the finder.
func room(n int) int { return 100*n + Size([]schemas.ToolInfo{findTools(catalogue("a"), nil)}) }

func called(question string, tools ...string) Question {
	a := Question{Question: question}
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
		"all fit":                       {Want{Bytes: 2000, Questions: []Question{called("a")}}, all, true},
		"no bound":                      {Want{Questions: []Question{called("a")}}, all, true},
		"the best, in their order":      {Want{Bytes: room(4), Questions: []Question{called("h c")}}, []string{"a", "c", "h"}, false},
		"a later question brings one":   {Want{Bytes: room(4), Questions: []Question{called("a"), called("f")}}, []string{"a", "b", "c", "f"}, false},
		"a called one stays":            {Want{Bytes: room(4), Questions: []Question{called("a", "s__g"), called("b")}}, []string{"a", "b", "c", "g"}, false},
		"so does one by its own name":   {Want{Bytes: room(4), Questions: []Question{called("a", "g"), called("b")}}, []string{"a", "b", "c", "g"}, false},
		"a found one stays":             {Want{Bytes: room(4), Questions: []Question{found, called("b")}}, []string{"a", "b", "c", "h"}, false},
		"made anew when it is full":     {Want{Bytes: room(4), Questions: []Question{called("a", "s__g"), called("f")}}, []string{"g", "a", "f"}, false},
		"a tool that is gone is passed": {Want{Bytes: room(4), Questions: []Question{called("a", "s__gone"), called("b")}}, []string{"a", "b", "c"}, false},
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

// sized makes a tool of the catalogue n times as large.
func sized(tools []schemas.Tool, name string, n int) {
	for i := range tools {
		if tools[i].ToolName == name {
			tools[i].InputSchema = needs(100*(n-1) + len("{}") - len(needs(0)))
		}
	}
}

// A called tool is offered whatever its size, as long as it fits the window, and the list stays
// the same from turn to turn if no new tool is called. A tool that cannot be given room does not
// take the others' place.
func TestFit_large(t *testing.T) {
	c := New(Config{Rank: byWords, Most: 128})
	tools := catalogue(strings.Split("abcdefghijklmnopqrst", "")...)
	sized(tools, "h", 10)
	sized(tools, "k", 8)
	sized(tools, "m", 3)
	found := called("h", FindTools)
	found.Calls[0].Function.Arguments = `{"words":"h k"}`
	for name, tc := range map[string]struct {
		asked   []Question
		window  int
		offered []string
	}{
		"the best one, larger than the base": {[]Question{called("m")}, 0, []string{"m"}},
		"one larger than the room":           {[]Question{called("h")}, 0, []string{"a", "b", "c"}},
		"one that was called":                {[]Question{called("a", "s__h"), called("and b")}, 0, []string{"a", "b", "c", "h"}},
		"one that was called long ago":       {[]Question{called("a", "s__h"), called("b"), called("c"), called("yes")}, 0, []string{"a", "b", "c", "h"}},
		"two":                                {[]Question{called("a", "s__h", "s__k"), called("b")}, 0, []string{"a", "b", "c", "h", "k"}},
		"another question, the room is full": {[]Question{called("a", "s__h"), called("f")}, 0, []string{"h", "f"}},
		"the newer one of two":               {[]Question{called("a", "s__h"), called("b", "s__k"), called("c")}, room(13), []string{"k", "b", "c"}},
		"none that the window has not":       {[]Question{called("a", "s__h"), called("b")}, room(9), []string{"a", "b", "c"}},
		"not one that was found only":        {[]Question{found, called("yes")}, 0, []string{"a", "b", "c"}},
		"the best, that never fits":          {[]Question{called("a"), called("h b"), called("h f"), called("h c")}, 0, []string{"a", "b", "c", "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := Want{Bytes: room(4), Window: tc.window, Questions: tc.asked}
			got := c.fit(want, tools)
			if diff := cmp.Diff(tc.offered, names(got.Offered)); diff != "" {
				t.Error(diff)
			}
			want.Questions = append(slices.Clone(want.Questions), called("thanks"))
			if diff := cmp.Diff(got.Offered, c.fit(want, tools).Offered); diff != "" {
				t.Errorf("the next turn is offered others: %s", diff)
			}
		})
	}
}

// In random conversations, the offer of a turn begins with that of the previous turn, or is made
// anew because it was full. It contains the called tools, and it is never larger than the window,
// nor than its room and the called tools together.
func TestFit_growsThroughAConversation(t *testing.T) {
	c := New(Config{Rank: byWords, Most: 40})
	tools := catalogue(numbered(150)...)
	for i := range 15 {
		sized(tools, fmt.Sprintf("t%03d", 10*i), 6+i)
	}
	chance := rand.New(rand.NewPCG(7, 7))
	grown, anew := 0, 0
	conversations := 200
	if testing.Short() {
		conversations = 40
	}
	for range conversations {
		var conversation []Question
		var before []schemas.Tool
		var used []schemas.ToolInfo
		for range 12 {
			question := fmt.Sprintf("t%03d t%03d", chance.IntN(150), chance.IntN(150))
			want := Want{Bytes: room(20), Window: room(300), Questions: append(slices.Clone(conversation), Question{Question: question})}
			got := c.fit(want, tools)
			if size := Size(Infos(got.Offered)); len(got.Offered) > 39 || size > room(20)+Size(used) {
				t.Fatalf("%d tools of %d bytes, %d of them were called", len(got.Offered), size, Size(used))
			}
			for _, tool := range used {
				if !Has(Infos(got.Offered), tool.Name) {
					t.Fatalf("%s was called, and is not offered", tool.Name)
				}
			}
			if len(before) > 0 && len(got.Offered) >= len(before) && cmp.Equal(names(before), names(got.Offered[:len(before)])) {
				grown++
			} else if len(before) > 0 {
				anew++
			}
			before = got.Offered
			calls := got.Offered[chance.IntN(len(got.Offered))]
			if chance.IntN(4) == 0 { // a tool that it calls by its known name
				calls = tools[chance.IntN(len(tools))]
			}
			if conversation = append(conversation, called(question, calls.Name)); !Has(used, calls.Name) {
				used = append(used, calls.ToolInfo)
			}
		}
	}
	t.Logf("%d offers grew, %d were made anew", grown, anew)
	if anew > grown/2 {
		t.Errorf("%d of %d offers were made anew", anew, grown+anew)
	}
}

// Services refuse a request with more than 128 tools: the client's tools, the finder, the found
// tools and the tools that read results count together.
func TestOffer_neverMoreThanServicesTake(t *testing.T) {
	tools := catalogue(numbered(300)...)
	c := New(Config{Rank: byWords, Most: 128})
	for _, client := range []int{0, 1, 100, 126, 127, 128} {
		want := Want{Client: Infos(catalogue(numbered(client)...)), Questions: []Question{called("t0 t1 t2")}}
		choice := c.fit(want, tools)
		o := Offer{Finder: choice.Finder, Most: 128}
		if choice.Finder != nil {
			o.Tools = append(o.Tools, findTools(tools, nil))
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
	o := Offer{Finder: c.fit(Want{Bytes: room(4), Questions: []Question{called("a")}}, catalogue(strings.Split("abcdefghijklmnopqrst", "")...)).Finder}
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
	many := New(Config{Rank: byWords, Most: 4}).fit(Want{Questions: []Question{called("x")}}, catalogue(numbered(150)...))
	result, err = many.Finder.Tool().Call(t.Context(), json.RawMessage(`{"words":"t"}`))
	if lines := strings.Split(result.OutputText(), "\n"); err != nil || len(lines) != maxFinds {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// Found tools are added best first while there is room: the best one may take all of it, another
// one half. The others are listed by name, the first two with their arguments.
func TestFinder_room(t *testing.T) {
	tools := catalogue(strings.Split("abcdefghijklmnopqrst", "")...)
	deep := json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"more":{"$ref":"#/$defs/more"}},
		"$defs":{"more":{"type":"object","properties":{"colour":{"type":"string","description":"` + strings.Repeat("y", 900) + `"}}}}}`)
	for i := range tools[:8] {
		tools[i].InputSchema = deep
	}
	size := func(name string) int {
		return Size(Infos(slices.DeleteFunc(slices.Clone(tools), func(t schemas.Tool) bool { return t.ToolName != name })))
	}
	const lines = 400 // limit for the lines of the found tools
	for name, tc := range map[string]struct {
		words        string
		bytes, tools int
		added, unfit []string
		large        bool
		told         []string
	}{
		"room for all":        {"a b", 10_000, 9, []string{"a", "b"}, nil, false, []string{"s__a: xx"}},
		"the best takes all":  {"a b", size("a") + lines, 9, []string{"a"}, []string{"b"}, false, []string{"s__a: xx", othersHeading + "\ns__b: xx"}},
		"no room for it":      {"a t", size("a") - 1, 9, []string{"t"}, []string{"a"}, true, []string{shownHeading + "\ns__t: xx", othersHeading + "\ns__a: xx", `"required":["id"]`}},
		"none at all":         {"a b c", 0, 9, nil, []string{"a", "b", "c"}, true, []string{"s__c: xx"}},
		"too many":            {"a t", 100_000, 1, nil, []string{"a", "t"}, false, []string{"Arguments of s__a:\n", "colour"}},
		"a piece of it":       {"a", size("a") - 1, 9, nil, []string{"a"}, true, []string{"Arguments of s__a, without some that are not required:\n" + `{"properties":{"id":{"type":"string"},"more":{"properties":{},"type":"object"}},`}},
		"only what is needed": {"a b c", 900, 9, nil, []string{"a", "b", "c"}, true, []string{`{"properties":{"id":{"type":"string"}},`}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Offer{Finder: New(Config{Rank: byWords, Most: 128}).fit(Want{Bytes: room(1), Questions: []Question{called("q")}}, tools).Finder, Most: tc.tools, Tools: make([]schemas.ToolInfo, 1)}
			o.Finder.form = nil // in brief they would all fit
			o.Allow(tc.bytes)
			args, err := json.Marshal(map[string]string{"words": tc.words})
			if err != nil {
				t.Fatal(err)
			}
			result, err := o.Finder.Tool().Call(t.Context(), args)
			if err != nil {
				t.Fatal(err)
			}
			added := o.Grow(nil)
			var unfit []string
			large := false
			for _, u := range o.Unfit {
				unfit, large = append(unfit, u.ToolName), large || u.Large
			}
			var got []string
			for _, tool := range added {
				got = append(got, tool.ToolName)
			}
			if diff := cmp.Diff(tc.added, got) + cmp.Diff(tc.unfit, unfit); diff != "" || large != tc.large {
				t.Errorf("large %v: %s", large, diff)
			}
			for _, part := range tc.told {
				if !strings.Contains(result.OutputText(), part) {
					t.Errorf("%q lacks %q", result.OutputText(), part)
				}
			}
			if n := strings.Count(result.OutputText(), "Arguments of"); n > maxOutlines || n > len(tc.unfit) {
				t.Errorf("the arguments of %d are told", n)
			}
			if len(result.OutputText()) > tc.bytes/2+lines+len(shownHeading)+len(othersHeading) {
				t.Errorf("%d bytes are told where %d are left", len(result.OutputText()), tc.bytes)
			}
		})
	}
}

// Tools that the operator wants offered always come first, whatever their size, as long as the window
// has room; the others share what is left, at least half of the room.
func TestFit_always(t *testing.T) {
	tools := catalogue(numbered(40)...)
	tools[30].Rules.Always = true
	tools[30].InputSchema = needs(1800)
	tools[31].Rules.Always = true
	tools[31].InputSchema = needs(9000)
	c := New(Config{Rank: byWords, Most: 128})
	for _, questions := range [][]string{{"t001"}, {"t001", "t002 t003"}, {"t001", "t010", "t011", "t012", "t013", "t014", "t015", "t016"}} {
		var asked []Question
		for _, q := range questions {
			asked = append(asked, Question{Question: q})
		}
		got := names(c.fit(Want{Questions: asked, Bytes: 2000, Window: 6000}, tools).Offered)
		if got[0] != "t030" || slices.Contains(got, "t031") {
			t.Errorf("%v: offered %v", questions, got)
		}
		last := strings.Fields(questions[len(questions)-1])
		if !slices.Contains(got, last[len(last)-1]) {
			t.Errorf("%v: offered %v", questions, got)
		}
	}
}

// A tool in brief keeps its required arguments and, as far as they fit, the others; one that fits is
// unchanged.
func TestBrief(t *testing.T) {
	tool := schemas.ToolInfo{
		Name: "s__put", Description: strings.Repeat("Puts a thing. ", 100),
		InputSchema: json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"$ref":"#/$defs/id"},"note":{"type":"string","description":"` + strings.Repeat("A note. ", 40) + `"},` +
			`"deep":{"type":"object","properties":{"more":{"type":"object","properties":{"colour":{"type":"string","description":"` + strings.Repeat("y", 900) + `"}}}}}},"$defs":{"id":{"type":"string"}}}`),
	}
	if got := brief(tool, 1<<20); got.Description != tool.Description || string(got.InputSchema) != string(tool.InputSchema) {
		t.Errorf("with room it is %+v", got)
	}
	for room, want := range map[int][]string{16_000: {`"colour"`, `"note"`, `"id":{"type":"string"}`}, 9000: {`"note"`, `"id"`, `"deep"`}, 1000: {`"id"`}} {
		got := brief(tool, room)
		if size := Size([]schemas.ToolInfo{got}); size > max(room/briefShare, leastBrief) || len(got.Description) > maxTool+len("…") || !json.Valid(got.InputSchema) {
			t.Errorf("%d bytes in a room of %d: %s", size, room, got.InputSchema)
		}
		for _, part := range want {
			if !strings.Contains(string(got.InputSchema), part) {
				t.Errorf("in a room of %d the schema lacks %s: %s", room, part, got.InputSchema)
			}
		}
	}
}

// As long as all tools fit, none is dropped: the longest descriptions are shortened first, at the end of a
// sentence or a line, with a mark.
func TestForms(t *testing.T) {
	tools := Infos(catalogue("a", "b"))
	long := tools[0]
	long.Name, long.Description = "s__long", strings.Repeat("Puts a thing there.\n", 400)
	wordy := tools[0]
	wordy.Name, wordy.Description = "s__wordy", strings.Repeat("word ", 200)
	tools = append(tools, long, wordy)
	for room, want := range map[int]struct {
		all         bool
		long, wordy int
	}{
		20_000: {true, 8000, 1000},
		6000:   {true, 3844, 1000},
		2400:   {true, 964, 959},
		750:    {true, 244, 239},
		600:    {false, 244, 239},
	} {
		forms, all := Forms(tools, room, 128)
		if got := []int{len(forms[2].Description), len(forms[3].Description)}; all != want.all || got[0] > want.long || got[0] < want.long-30 || got[1] > want.wordy || got[1] < want.wordy-10 {
			t.Errorf("in a room of %d: all %v, descriptions of %d bytes, want %+v", room, all, got, want)
		}
		if size := Size(forms); all && size > room {
			t.Errorf("%d bytes in a room of %d", size, room)
		}
		for i, form := range forms {
			if form.Description != tools[i].Description && !strings.HasSuffix(form.Description, ". …") && !strings.HasSuffix(form.Description, "word …") {
				t.Errorf("in a room of %d it is cut in mid-sentence: %q", room, form.Description[len(form.Description)-20:])
			}
		}
	}
	if _, all := Forms(tools, 20_000, 3); all {
		t.Error("more than the most are all offered")
	}
}

func TestShorten(t *testing.T) {
	for most, tc := range map[int]struct{ text, want string }{
		100: {"All of it.  ", "All of it.  "},
		30:  {"The first. The second one. The third is long.", "The first. The second one. …"},
		20:  {"One sentence that has no end at all", "One sentence …"},
		21:  {"ữữữữữữữữữữữữữữ", "ữữữữữ …"},
		14:  {"A. Verylongword indeed", "A. …"},
		22:  {"- one\n- two\n- three\n- four", "- one\n- two …"},
	} {
		if got := shorten(tc.text, most); got != tc.want || len(got) > most && got != tc.text {
			t.Errorf("%q in %d: %q, want %q", tc.text, most, got, tc.want)
		}
	}
}

// What the offer cuts is told in the same numbers.
func TestCutDescriptions(t *testing.T) {
	tools := Infos(catalogue("a", "b"))
	tools[1].Description = strings.Repeat("Puts a thing there.\n", 400)
	want := map[string]string{"s__b": "its description has 2000 tokens (8000 characters); with all of these tools attached, models are shown so many characters: 3821 with a window of up to 4096 tokens"}
	if diff := cmp.Diff(want, CutDescriptions(tools, 0, 128)); diff != "" {
		t.Error(diff)
	}
	want = map[string]string{"s__b": "its description has 2000 tokens (8000 characters); with all of these tools attached, models are shown so many characters: 1901 at most"}
	if diff := cmp.Diff(want, CutDescriptions(tools, 600, 128)); diff != "" {
		t.Error(diff)
	}
}

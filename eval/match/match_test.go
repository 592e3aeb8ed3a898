package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/match"
)

// expected reads a call: "name {matchers}".
func expected(t *testing.T, text string) match.Expected {
	t.Helper()
	name, args, given := strings.Cut(text, " ")
	e := match.Expected{Name: name}
	if !given {
		return e
	}
	v, err := match.Decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	e.Args = make(map[string]match.Matcher)
	for key, value := range v.(map[string]any) {
		m, err := match.ParseMatcher(value)
		if err != nil {
			t.Fatal(err)
		}
		e.Args[key] = m
	}
	return e
}

func made(text string) match.Call {
	name, args, _ := strings.Cut(text, " ")
	return match.Call{Name: name, Arguments: args}
}

func TestMatchers(t *testing.T) {
	for _, test := range []struct {
		want, got string
		ok        bool
	}{
		{`{"a":1}`, `{"a":1.0}`, true},
		{`{"a":1}`, `{"a":true}`, false},
		{`{"a":"x"}`, `{"a":"X"}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1}`, `{}`, false},
		{`{"a":{"any_of":[1,"one"]}}`, `{"a":"one"}`, true},
		{`{"a":{"any_of":[1,"one"]}}`, `{"a":2}`, false},
		{`{"a":{"optional":1}}`, `{}`, true},
		{`{"a":{"optional":1}}`, `{"a":2}`, false},
		{`{"a":{"absent":true}}`, `{}`, true},
		{`{"a":{"absent":true}}`, `{"a":1}`, false},
		{`{"a":{"regex":"^N.*n$"}}`, `{"a":"Nguyen"}`, true},
		{`{"a":{"regex":"^N.*n$"}}`, `{"a":5}`, false},
		{`{"a":{"contains":"guy"}}`, `{"a":"Nguyen"}`, true},
		{`{"a":{"contains":2}}`, `{"a":[1,2]}`, true},
		{`{"a":{"contains":3}}`, `{"a":[1,2]}`, false},
		{`{"a":{"approx":3.14,"abs":0.01}}`, `{"a":3.145}`, true},
		{`{"a":{"approx":3.14,"abs":0.001}}`, `{"a":3.145}`, false},
		{`{"a":{"approx":100,"rel":0.1}}`, `{"a":"100"}`, false},
		{`{"a":{"unordered":[1,2,2]}}`, `{"a":[2,1,2]}`, true},
		{`{"a":{"unordered":[1,2,2]}}`, `{"a":[2,1,1]}`, false},
		{`{"a":{"unordered":[{"any_of":[1,2]},1]}}`, `{"a":[1,2]}`, true},
		{`{"a":{"subset":{"x":1}}}`, `{"a":{"x":1,"y":2}}`, true},
		{`{"a":{"subset":{"x":1}}}`, `{"a":{"y":2}}`, false},
		{`{"a":{"schema":{"type":"integer","minimum":3}}}`, `{"a":4}`, true},
		{`{"a":{"schema":{"type":"integer","minimum":3}}}`, `{"a":2}`, false},
		{`{"a":{"ignore":true}}`, `{}`, true},
		{`{"a":{"ignore":true}}`, `{"a":[1]}`, true},
		{`{"a":{"x":{"regex":"^b"},"y":[1,{"ignore":true}]}}`, `{"a":{"x":"bc","y":[1,"z"]}}`, true},
		{`{"a":{"x":{"regex":"^b"}}}`, `{"a":{"x":"c"}}`, false},
	} {
		p := match.Plan{Order: true, Items: []match.Expected{expected(t, "f "+test.want)}}
		if a := p.Compare([]match.Call{made("f " + test.got)}); a.Valid != test.ok {
			t.Errorf("%s against %s: valid %v, want %v (%v)", test.got, test.want, a.Valid, test.ok, a.Faults)
		}
	}
}

func TestParseMatcher_faults(t *testing.T) {
	for _, text := range []string{
		`{"any_of":1}`, `{"regex":"("}`, `{"regex":1}`, `{"absent":false}`, `{"approx":"x"}`, `{"approx":1,"abs":-1}`,
		`{"subset":1}`, `{"schema":{"type":"nonsense"}}`, `{"from":"#/x"}`, `{"from":1}`, `{"unordered":{}}`,
	} {
		v, err := match.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := match.ParseMatcher(v); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestPlan(t *testing.T) {
	a, b, c := `f {"x":1}`, `f {"x":2}`, `g {}`
	for _, test := range []struct {
		name          string
		order, others bool
		want          []string
		got           []string
		valid         bool
	}{
		{"order", true, false, []string{a, c}, []string{a, c}, true},
		{"order refuses another order", true, false, []string{a, c}, []string{c, a}, false},
		{"order refuses more", true, false, []string{a}, []string{a, c}, false},
		{"order with others lets them between", true, true, []string{a, c}, []string{a, b, c}, true},
		{"order with others refuses another order", true, true, []string{a, c}, []string{c, a}, false},
		{"any order", false, false, []string{a, b, c}, []string{c, b, a}, true},
		{"any order refuses more", false, false, []string{a}, []string{a, c}, false},
		{"any order refuses fewer", false, false, []string{a, b}, []string{a}, false},
		{"any order counts repeats", false, false, []string{a, a}, []string{a}, false},
		{"others take more", false, true, []string{a}, []string{c, a}, true},
		{"others refuse fewer", false, true, []string{a, c}, []string{a}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := match.Plan{Order: test.order, Others: test.others}
			for _, text := range test.want {
				p.Items = append(p.Items, expected(t, text))
			}
			var calls []match.Call
			for _, text := range test.got {
				calls = append(calls, made(text))
			}
			if got := p.Compare(calls); got.Valid != test.valid {
				t.Errorf("valid %v, want %v: %v", got.Valid, test.valid, got.Faults)
			}
		})
	}
}

// TestAssignment has calls that a greedy pairing gets wrong in one of two orders.
func TestAssignment(t *testing.T) {
	p := match.Plan{Items: []match.Expected{
		expected(t, `f {"x":{"any_of":[1,2]}}`), expected(t, `f {"x":1}`), expected(t, `f {"x":{"any_of":[2,3]}}`),
	}}
	for _, order := range [][]string{{"1", "2", "3"}, {"1", "3", "2"}, {"2", "1", "3"}, {"2", "3", "1"}, {"3", "1", "2"}, {"3", "2", "1"}} {
		var calls []match.Call
		for _, x := range order {
			calls = append(calls, made(`f {"x":`+x+`}`))
		}
		if a := p.Compare(calls); !a.Valid {
			t.Errorf("order %v: %v", order, a.Faults)
		}
	}
}

func TestDataFlow(t *testing.T) {
	find, read := expected(t, "find"), expected(t, `read {"id":{"from":"find#/items/0/id"}}`)
	find.Ref, read.After = "find", []string{"find"}
	p := match.Plan{Items: []match.Expected{read, find}}
	result, err := match.Decode([]byte(`{"items":[{"id":"a1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	found := match.Call{Name: "find", Arguments: "{}", Result: result, Done: true}
	for _, test := range []struct {
		name  string
		calls []match.Call
		valid bool
	}{
		{"from the result", []match.Call{found, made(`read {"id":"a1"}`)}, true},
		{"made up", []match.Call{found, made(`read {"id":"a2"}`)}, false},
		{"before the result", []match.Call{made(`read {"id":"a1"}`), found}, false},
	} {
		if a := p.Compare(test.calls); a.Valid != test.valid {
			t.Errorf("%s: valid %v, want %v: %v", test.name, a.Valid, test.valid, a.Faults)
		}
	}
}

func TestBounds(t *testing.T) {
	repeat := expected(t, "f")
	repeat.Min, repeat.Max = 1, 3
	calls := func(n int) []match.Call {
		var all []match.Call
		for range n {
			all = append(all, made("f {}"))
		}
		return all
	}
	for n, valid := range map[int]bool{0: false, 1: true, 3: true, 4: false} {
		p := match.Plan{Items: []match.Expected{repeat}}
		if a := p.Compare(calls(n)); a.Valid != valid {
			t.Errorf("%d calls of 1 to 3: valid %v", n, a.Valid)
		}
	}
	optional := expected(t, "f")
	optional.Max = 1
	for n, valid := range map[int]bool{0: true, 1: true, 2: false} {
		p := match.Plan{Items: []match.Expected{optional}}
		if a := p.Compare(calls(n)); a.Valid != valid {
			t.Errorf("%d calls of at most 1: valid %v", n, a.Valid)
		}
	}
	none := match.Plan{NoCall: true}
	if a := none.Compare(calls(1)); a.Valid {
		t.Error("a call is valid where none is wanted")
	}
	forbid := match.Plan{Others: true, Forbid: []match.Expected{expected(t, "f")}}
	if a := forbid.Compare(calls(1)); a.Valid {
		t.Error("a forbidden call is valid")
	}
}

func TestCanonicalJSON(t *testing.T) {
	got := match.CanonicalJSON([]byte(`{"b": 5.0, "a": [1, "<x>"]}`))
	if diff := cmp.Diff(`{"a":[1,"<x>"],"b":5.0}`, got); diff != "" {
		t.Error(diff)
	}
}

func TestEqual_hugeExponent(t *testing.T) {
	a, err := match.Decode([]byte(`1e999999999`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := match.Decode([]byte(`10e999999998`))
	if err != nil {
		t.Fatal(err)
	}
	if match.Equal(a, b) { // comparing them exactly would take a gigabyte
		t.Error("huge numbers were unfolded")
	}
}

package bfcl_test

import (
	"strings"
	"testing"

	"molar/bench/bfcl"
)

const cases = `{"id":"simple_python_0","question":[[{"role":"user","content":"q"}]],"function":[{"name":"trip","description":"d","parameters":{"type":"dict","properties":{"city":{"type":"string"},"days":{"type":"integer"},"cost":{"type":"float"},"tags":{"type":"array","items":{"type":"string"}},"who":{"type":"dict"},"stops":{"type":"array","items":{"type":"dict"}}},"required":["city"]}}]}
{"id":"parallel_0","question":[[{"role":"user","content":"q"}]],"function":[{"name":"add","description":"d","parameters":{"type":"dict","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a"]}}]}
{"id":"irrelevance_0","question":[[{"role":"user","content":"q"}]],"function":[{"name":"add","description":"d","parameters":{"type":"dict","properties":{}}}]}
{"id":"live_relevance_0-0-0","question":[[{"role":"user","content":"q"}]],"function":[{"name":"add","description":"d","parameters":{"type":"dict","properties":{}}}]}
{"id":"multiple_0","question":[[{"role":"user","content":"q"}]],"function":[{"name":"sub","parameters":{"type":"dict","properties":{}}},{"name":"add","description":"d","parameters":{"type":"dict","properties":{"a":{"type":"integer"}},"required":["a"]}}]}
`

const answers = `{"id":"simple_python_0","ground_truth":[{"trip":{"city":["New York, NY","Chicago","Οδός"],"days":[3,""],"cost":[10.0,""],"tags":[["Red","blue"],""],"who":[{"name":["Ann"],"age":[5,""]},""],"stops":[[{"at":["A"]},{"at":["B"]}],""]}}]}
{"id":"parallel_0","ground_truth":[{"add":{"a":[1,2],"b":[5,""]}},{"add":{"a":[1],"b":["",6]}}]}
{"id":"multiple_0","ground_truth":[{"add":{"a":[1]}}]}
`

// TestJudge tests each rule with a separate call.
func TestJudge(t *testing.T) {
	known := load(t)
	for _, test := range []struct {
		name, id string
		calls    []string // name and arguments
		want     string   // type of the fault, "" for a valid line
	}{
		{"reference", "simple_python_0", []string{`trip {"city":"New York, NY"}`}, ""},
		{"texts lose case, blanks and punctuation", "simple_python_0", []string{`trip {"city":"new-york NY"}`}, ""},
		{"another text", "simple_python_0", []string{`trip {"city":"Boston"}`}, "value_error:string"},
		{"a dotted capital I becomes two letters", "simple_python_0", []string{`trip {"city":"Chİcago"}`}, "value_error:string"},
		{"a sigma at the end of a word has a form of its own", "simple_python_0", []string{`trip {"city":"ΟΔΌΣ"}`}, ""},
		{"Infinity is a float", "simple_python_0", []string{`trip {"city":"New York, NY","cost":-Infinity}`}, "value_error:others"},
		{"Infinity is no integer", "simple_python_0", []string{`trip {"city":"New York, NY","days":Infinity}`}, "type_error:simple"},
		{"NaN in a text is text", "simple_python_0", []string{`trip {"city":"NaN \" NaN"}`}, "value_error:string"},
		{"irrelevance with NaN", "irrelevance_0", []string{`add {"a":NaN}`}, "irrelevance_error:decoder_success"},
		{"NaNs are no JSON", "simple_python_0", []string{`trip {"city":NaNs}`}, "ast_decoder:decoder_failed"},
		{"no call", "simple_python_0", nil, "simple_function_checker:wrong_count"},
		{"two calls", "simple_python_0", []string{`trip {"city":"New York, NY"}`, `trip {"city":"New York, NY"}`}, "simple_function_checker:wrong_count"},
		{"another name", "simple_python_0", []string{`trap {"city":"New York, NY"}`}, "simple_function_checker:wrong_func_name"},
		{"missing required", "simple_python_0", []string{`trip {"days":3}`}, "simple_function_checker:missing_required"},
		{"unexpected", "simple_python_0", []string{`trip {"city":"New York, NY","x":1}`}, "simple_function_checker:unexpected_param"},
		{"5.0 is no integer", "simple_python_0", []string{`trip {"city":"New York, NY","days":3.0}`}, "type_error:simple"},
		{"a truth value is no integer", "simple_python_0", []string{`trip {"city":"New York, NY","days":true}`}, "type_error:simple"},
		{"an integer is a float", "simple_python_0", []string{`trip {"city":"New York, NY","cost":10}`}, ""},
		{"lists keep their order", "simple_python_0", []string{`trip {"city":"New York, NY","tags":["blue","red"]}`}, "value_error:list/tuple"},
		{"elements are compared as texts", "simple_python_0", []string{`trip {"city":"New York, NY","tags":["RED","Blue"]}`}, ""},
		{"the mark of an omittable list equals the empty one", "simple_python_0", []string{`trip {"city":"New York, NY","tags":[]}`}, ""},
		{"object with an omittable key left out", "simple_python_0", []string{`trip {"city":"New York, NY","who":{"name":"ann"}}`}, ""},
		{"object with a key too many", "simple_python_0", []string{`trip {"city":"New York, NY","who":{"name":"ann","x":1}}`}, "value_error:dict_key"},
		{"object with a wrong value", "simple_python_0", []string{`trip {"city":"New York, NY","who":{"name":"ben"}}`}, "value_error:dict_value"},
		{"object with a wrong value and a key missing", "simple_python_0", []string{`trip {"city":"New York, NY","who":{"age":6}}`}, "value_error:dict_key"},
		{"object with a key missing", "simple_python_0", []string{`trip {"city":"New York, NY","who":{"age":5}}`}, "value_error:dict_key"},
		{"list of objects", "simple_python_0", []string{`trip {"city":"New York, NY","stops":[{"at":"a"},{"at":"b"}]}`}, ""},
		{"list of objects, too short", "simple_python_0", []string{`trip {"city":"New York, NY","stops":[{"at":"a"}]}`}, "value_error:list_dict_count"},
		{"arguments that are no JSON", "simple_python_0", []string{`trip {"city"`}, "ast_decoder:decoder_failed"},
		{"arguments that are no object", "simple_python_0", []string{`trip []`}, "ast_decoder:decoder_wrong_output_format"},
		{"parallel in its order", "parallel_0", []string{`add {"a":2}`, `add {"a":1}`}, ""},
		{"parallel is greedy", "parallel_0", []string{`add {"a":1}`, `add {"a":2}`}, "parallel_function_checker_no_order:cannot_find_match"},
		{"parallel, too few", "parallel_0", []string{`add {"a":1}`}, "parallel_function_checker_no_order:wrong_count"},
		{"multiple", "multiple_0", []string{`add {"a":1}`}, ""},
		{"multiple, the other function", "multiple_0", []string{`sub {}`}, "simple_function_checker:wrong_func_name"},
		{"multiple, wrong value", "multiple_0", []string{`add {"a":2}`}, "value_error:others"},
		{"irrelevance without a call", "irrelevance_0", nil, ""},
		{"irrelevance with a call", "irrelevance_0", []string{`add {}`}, "irrelevance_error:decoder_success"},
		{"relevance without a call", "live_relevance_0-0-0", nil, "relevance_error:decoder_failed"},
		{"relevance with any call", "live_relevance_0-0-0", []string{`other {}`}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := known[test.id]
			line := bfcl.Line{ID: test.id}
			for _, call := range test.calls {
				name, args, _ := strings.Cut(call, " ")
				var raw bfcl.RawCall
				raw.Function.Name, raw.Function.Arguments = name, bfcl.Arguments(args)
				line.Calls = append(line.Calls, raw)
			}
			if v := c.Judge(line); v.Type != test.want || v.Valid != (test.want == "") {
				t.Errorf("verdict %+v, want fault %q", v, test.want)
			}
		})
	}
}

func load(t *testing.T) map[string]bfcl.Case {
	t.Helper()
	list, err := bfcl.ReadCases("cases", strings.NewReader(cases))
	if err != nil {
		t.Fatal(err)
	}
	if err := bfcl.ReadAnswers("answers", strings.NewReader(answers), list); err != nil {
		t.Fatal(err)
	}
	byID := make(map[string]bfcl.Case)
	for _, c := range list {
		byID[c.ID] = c
	}
	return byID
}

func TestReadCases_faults(t *testing.T) {
	for name, test := range map[string]struct{ line, want string }{
		"no JSON":       {`{"id"`, "f:1:"},
		"a list":        {`[{"id":"simple_0"}]`, "f:1: a line must be one JSON object"},
		"no id":         {`{"function":[]}`, `f:1: the case has no "id"`},
		"Java":          {`{"id":"simple_java_0","function":[]}`, "Python's categories"},
		"several turns": {`{"id":"multi_turn_0","function":[],"initial_config":{}}`, "f:1: case"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bfcl.ReadCases("f", strings.NewReader(test.line))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestCategoryOf(t *testing.T) {
	for id, want := range map[string]string{
		"simple_python_12": "simple_python", "live_simple_0-0-0": "live_simple", "parallel_multiple_7": "parallel_multiple",
		"irrelevance_3": "irrelevance", "x": "x",
	} {
		if got := bfcl.CategoryOf(id); got != want {
			t.Errorf("CategoryOf(%q) = %q, want %q", id, got, want)
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(`{"city":"New York, NY","days":3,"who":{"name":"Ann"},"stops":[{"at":"A"}]}`, "simple_python_0")
	f.Fuzz(func(t *testing.T, args, id string) {
		known := load(t)
		c, ok := known[id]
		if !ok {
			c = known["simple_python_0"]
		}
		var raw bfcl.RawCall
		raw.Function.Name, raw.Function.Arguments = c.Functions[0].Name, bfcl.Arguments(args)
		if v := c.Judge(bfcl.Line{ID: c.ID, Calls: []bfcl.RawCall{raw}}); v.Valid == (v.Type != "") {
			t.Errorf("verdict %+v contradicts itself", v)
		}
	})
}

// Numbers that only Python accepts in JSON are reported as Python writes them.
func TestJudge_TellsPythonsNumbers(t *testing.T) {
	c := load(t)["simple_python_0"]
	for _, number := range []string{"NaN", "-Infinity"} {
		var call bfcl.RawCall
		call.Function.Name, call.Function.Arguments = "trip", bfcl.Arguments(`{"city":"New York, NY","cost":`+number+`}`)
		v := c.Judge(bfcl.Line{ID: c.ID, Calls: []bfcl.RawCall{call}})
		if !strings.Contains(v.Reason, " "+number+" is not") {
			t.Errorf("%s: %+v", number, v)
		}
	}
}

// Package bfcl judges calls as the Berkeley Function Calling Leaderboard's own checker does, in
// the categories of Python.
package bfcl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Function describes one offered function.
type Function struct {
	Name     string
	Params   map[string]Param
	Required []string
}

// A Param is the declared type of an argument, in the benchmark's terms ("integer", "float",
// "dict"). Item is the declared type of an array's elements, or "".
type Param struct {
	Type, Item string
}

// An Answer is one expected call. Accepted lists the accepted values of each argument; an empty
// string among them marks the argument as omittable.
type Answer struct {
	Name     string
	Accepted map[string][]any
}

// A call is a call that a model made.
type call struct {
	Name string
	Args map[string]any
}

// A Verdict is the result of judging calls. Type is the official checker's name of the first
// fault, such as "type_error:simple"; Reason is a sentence.
type Verdict struct {
	Valid  bool
	Type   string
	Reason string
}

func valid() Verdict { return Verdict{Valid: true} }

func fault(kind, format string, args ...any) Verdict {
	return Verdict{Type: kind, Reason: fmt.Sprintf(format, args...)}
}

// check judges the calls of one case. In a category with "parallel" in its name the order of the
// calls is free; "irrelevance" requires no call, and "relevance" at least one, whatever it is.
func check(category string, functions []Function, answers []Answer, calls []call) Verdict {
	switch {
	case strings.Contains(category, "irrelevance"):
		if len(calls) > 0 {
			return fault("irrelevance_error:decoder_success", "no call fits the question, and %q was called", calls[0].Name)
		}
		return valid()
	case strings.Contains(category, "relevance"):
		if len(calls) == 0 {
			return fault("relevance_error:decoder_failed", "a call was expected, and none was made")
		}
		return valid()
	case len(answers) == 0:
		return fault("answer:missing", "there is no accepted answer for this case")
	case strings.Contains(category, "parallel"):
		return checkParallel(functions, answers, calls)
	case strings.Contains(category, "multiple"):
		if len(calls) != len(answers) {
			return fault("multiple_function_checker:wrong_count", "expected %d calls, got %d", len(answers), len(calls))
		}
		return checkCall(find(functions, answers[0].Name), &answers[0], calls[0])
	default:
		if len(calls) != 1 {
			return fault("simple_function_checker:wrong_count", "expected 1 call, got %d", len(calls))
		}
		var only *Function
		if len(functions) > 0 {
			only = &functions[0]
		}
		return checkCall(only, &answers[0], calls[0])
	}
}

// checkParallel pairs each expected call with the first unused call that matches it. That is
// greedy, like the official checker: another pairing might pass.
func checkParallel(functions []Function, answers []Answer, calls []call) Verdict {
	if len(calls) != len(answers) {
		return fault("parallel_function_checker_no_order:wrong_count", "expected %d calls, got %d", len(answers), len(calls))
	}
	taken := make([]bool, len(calls))
	for i := range answers {
		function := find(functions, answers[i].Name)
		found := false
		var last Verdict
		for j, call := range calls {
			if taken[j] {
				continue
			}
			if last = checkCall(function, &answers[i], call); last.Valid {
				taken[j], found = true, true
				break
			}
		}
		if !found {
			return fault("parallel_function_checker_no_order:cannot_find_match",
				"no call fits expected call %d (%s): %s", i+1, answers[i].Name, last.Reason)
		}
	}
	return valid()
}

func find(functions []Function, name string) *Function {
	for i := range functions {
		if functions[i].Name == name {
			return &functions[i]
		}
	}
	return nil
}

// checkCall judges one call: its name, required arguments, unknown arguments, the type and value
// of each argument, and then the arguments that the answer requires.
func checkCall(f *Function, answer *Answer, call call) Verdict {
	if f == nil {
		return fault("simple_function_checker:wrong_func_name", "function %q is not among the case's functions", answer.Name)
	}
	if call.Name != f.Name {
		return fault("simple_function_checker:wrong_func_name", "expected a call of %q, got %q", f.Name, call.Name)
	}
	for _, name := range f.Required {
		if _, ok := call.Args[name]; !ok {
			return fault("simple_function_checker:missing_required", "required argument %q is missing", name)
		}
	}
	for _, name := range sorted(call.Args) {
		param, declared := f.Params[name]
		accepted, expected := answer.Accepted[name]
		if !declared || !expected {
			return fault("simple_function_checker:unexpected_param", "argument %q is not expected", name)
		}
		if v := checkArg(name, param, accepted, call.Args[name]); !v.Valid {
			return v
		}
	}
	for _, name := range sorted(answer.Accepted) {
		if _, ok := call.Args[name]; !ok && !omittable(answer.Accepted[name]) {
			return fault("simple_function_checker:missing_optional", "argument %q is missing, and the answer demands it", name)
		}
	}
	return valid()
}

// sorted returns the keys of a map in sorted order, so that the same fault is reported every time
// when there are several.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

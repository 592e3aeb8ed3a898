package bfcl

import (
	"encoding/json"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// pythonKind returns the Python type of a declared type.
func pythonKind(declared string) (kind, bool) {
	switch strings.ToLower(declared) {
	case "string", "any":
		return kindString, true
	case "integer":
		return kindInt, true
	case "float", "number", "double":
		return kindFloat, true
	case "boolean":
		return kindBool, true
	case "array", "tuple":
		return kindList, true
	case "dict", "object":
		return kindDict, true
	}
	return "", false
}

// checkArg judges one argument.
func checkArg(name string, p Param, accepted []any, value any) Verdict {
	want, known := pythonKind(p.Type)
	if !known {
		return fault("type_error:simple", "argument %q: the declared type %q is unknown", name, p.Type)
	}
	var item kind
	if want == kindList && p.Item != "" {
		if item, known = pythonKind(p.Item); !known {
			return fault("type_error:nested", "argument %q: the declared element type %q is unknown", name, p.Item)
		}
	}
	if n, ok := value.(json.Number); ok && want == kindFloat && kindOf(n) == kindInt {
		value = float(n)
	}
	variable, v := checkType(name, value, accepted, want, item)
	if !v.Valid {
		return v
	}
	return checkValue(name, value, accepted, want, item, variable)
}

// checkType checks the type of a value. variable is set if the value has the type of the
// accepted values rather than the declared one: then it stands for a variable.
func checkType(name string, value any, accepted []any, want, item kind) (variable bool, v Verdict) {
	first, known := firstKind(accepted)
	variable = known && first != want
	got := kindOf(value)
	nested := false
	if got == want {
		if item == "" || itemsFit(name, value, accepted, item) {
			return variable, valid()
		}
		nested = true
	}
	switch {
	case known && got == first && nested:
		return false, fault("type_error:nested", "argument %q: its elements are not all %s", name, item)
	case known && got == first:
		return true, valid()
	default:
		return false, fault("type_error:simple", "argument %q: expected %s, got %s", name, want, got)
	}
}

// itemsFit reports whether the elements have the types of an accepted list's elements. An
// accepted value that is not a list allows any element.
func itemsFit(name string, value any, accepted []any, item kind) bool {
	elements, _ := value.([]any)
	for _, a := range accepted {
		list, ok := a.([]any)
		if !ok {
			return true
		}
		fits := true
		for _, element := range elements {
			if _, v := checkType(name, element, list, item, ""); !v.Valid {
				fits = false
				break
			}
		}
		if fits {
			return true
		}
	}
	return false
}

// firstKind returns the type of the first accepted value other than the mark of an omittable
// argument.
func firstKind(accepted []any) (kind, bool) {
	for _, a := range accepted {
		if !equal(a, "") {
			return kindOf(a), true
		}
	}
	return "", false
}

func checkValue(name string, value any, accepted []any, want, item kind, variable bool) Verdict {
	switch {
	case variable:
	case want == kindDict:
		return checkDict(name, value, accepted)
	case want == kindList && item == kindDict:
		return checkDicts(name, value, accepted)
	case want == kindString:
		return checkString(name, value, accepted)
	case want == kindList:
		return checkList(name, value, accepted)
	}
	if !contains(accepted, value) {
		return fault("value_error:others", "argument %q: %s is not among the accepted values", name, show(value))
	}
	return valid()
}

func checkString(name string, value any, accepted []any) Verdict {
	text, _ := value.(string)
	for _, a := range accepted {
		if s, ok := a.(string); ok && standard(s) == standard(text) {
			return valid()
		}
	}
	return fault("value_error:string", "argument %q: %q is not among the accepted values", name, text)
}

func checkList(name string, value any, accepted []any) Verdict {
	list := standardItems(value)
	for _, a := range accepted {
		if equal(standardItems(a), list) {
			return valid()
		}
	}
	return fault("value_error:list/tuple", "argument %q: %s is not among the accepted values", name, show(value))
}

// standardItems standardises the strings of a list. It treats text as the list of its
// characters, so that the mark of an omittable argument equals the empty list.
func standardItems(v any) any {
	list, ok := v.([]any)
	if text, isText := v.(string); isText {
		for _, r := range text {
			list = append(list, string(r))
		}
	} else if !ok {
		return v
	}
	items := make([]any, len(list))
	for i, item := range list {
		items[i] = standardValue(item)
	}
	return items
}

func standardValue(v any) any {
	if s, ok := v.(string); ok {
		return standard(s)
	}
	return v
}

func checkDict(name string, value any, accepted []any) Verdict {
	object, ok := value.(map[string]any)
	v := fault("dict_checker:unclear", "argument %q: no accepted object", name)
	if !ok {
		return v
	}
	for _, a := range accepted {
		if equal(a, "") {
			continue
		}
		want, _ := a.(map[string]any)
		if v = dictFits(name, object, want); v.Valid {
			return v
		}
	}
	return v
}

// dictFits compares one level: each key has its own list of accepted values. Missing keys are
// reported before wrong values.
func dictFits(name string, got, want map[string]any) Verdict {
	for _, key := range sorted(want) {
		if _, ok := got[key]; !ok && !omittableKey(want[key]) {
			return fault("value_error:dict_key", "argument %q: key %q is missing", name, key)
		}
	}
	for _, key := range sorted(got) {
		values, ok := want[key]
		if !ok {
			return fault("value_error:dict_key", "argument %q: key %q is not expected", name, key)
		}
		list, _ := standardItems(values).([]any)
		if !contains(list, standardValue(got[key])) {
			return fault("value_error:dict_value", "argument %q: %s under key %q is not accepted", name, show(got[key]), key)
		}
	}
	return valid()
}

// omittableKey reports whether a key may be omitted. An accepted value that is text instead of a
// list contains the empty text, as in Python.
func omittableKey(accepted any) bool {
	if _, isText := accepted.(string); isText {
		return true
	}
	values, _ := accepted.([]any)
	return omittable(values)
}

func checkDicts(name string, value any, accepted []any) Verdict {
	got, _ := value.([]any)
	v := fault("list_dict_checker:unclear", "argument %q: no accepted list", name)
	for _, a := range accepted {
		want, _ := a.([]any)
		if len(got) != len(want) {
			v = fault("value_error:list_dict_count", "argument %q: expected %d objects, got %d", name, len(want), len(got))
			continue
		}
		fits := true
		for i := range got {
			if v = checkDict(name, got[i], []any{want[i]}); !v.Valid {
				fits = false
				break
			}
		}
		if fits {
			return valid()
		}
	}
	return v
}

// standard returns the form in which the benchmark compares texts: without spaces and some
// punctuation, in lower case, with one kind of quote. It makes "1.5" and "15" equal.
func standard(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,./-_*^", r) {
			return -1
		}
		return r
	}, s)
	// Python's lower() follows Unicode's special cases, which strings.ToLower does not.
	return strings.ReplaceAll(cases.Lower(language.Und).String(s), "'", `"`)
}

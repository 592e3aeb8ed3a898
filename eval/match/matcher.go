package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"molar/toolhandler"
)

// A Matcher decides whether an argument has an accepted value. Create one with [ParseMatcher].
type Matcher struct {
	raw      any  // the source
	optional bool // the argument may be left out
	// check compares a value at a JSON pointer and returns the differences.
	check func(s earlier, at string, v any) []Fault
}

// String returns the matcher's source.
func (m *Matcher) String() string { return Show(m.raw) }

// fits reports whether a value has no differences.
func (m *Matcher) fits(s earlier, v any) bool { return len(m.check(s, "", v)) == 0 }

// ParseMatcher parses a matcher: a literal, or an object with one of the keys any_of, optional,
// absent, regex, contains, approx (with abs or rel), unordered, subset, schema, ignore, from.
// Literal objects and lists may contain matchers.
func ParseMatcher(v any) (m Matcher, err error) {
	m.raw = Normal(v)
	switch v := m.raw.(type) {
	case []any:
		items, err := parseList(v)
		m.check = func(s earlier, at string, v any) []Fault { return m.checkList(s, at, items, v) }
		return m, err
	case map[string]any:
		if key := matcherKey(v); key != "" {
			if m, err = m.parse(key, v); err != nil {
				err = fmt.Errorf("%s: %w", key, err)
			}
			return m, err
		}
		return m.object(v, true)
	}
	return m.when(func(_ earlier, got any) bool { return Equal(m.raw, got) }), nil
}

// matcherKey returns the key that makes an object a matcher, or "". No other key is allowed,
// except for the tolerances of approx.
func matcherKey(object map[string]any) string {
	kinds := []string{"any_of", "optional", "absent", "regex", "contains", "approx", "unordered", "subset", "schema", "ignore", "from"}
	_, approx := object["approx"]
	found := ""
	for key := range object {
		switch {
		case approx && (key == "abs" || key == "rel"):
		case found != "" || !slices.Contains(kinds, key):
			return ""
		default:
			found = key
		}
	}
	return found
}

func parseList(list []any) ([]Matcher, error) {
	items := make([]Matcher, len(list))
	for i, item := range list {
		var err error
		if items[i], err = ParseMatcher(item); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return items, nil
}

// when returns the matcher of the values for which ok holds.
func (m Matcher) when(ok func(s earlier, v any) bool) Matcher {
	m.check = func(s earlier, at string, v any) []Fault {
		if ok(s, v) {
			return nil
		}
		return m.fault(at, v)
	}
	return m
}

func (m *Matcher) fault(at string, v any) []Fault {
	return []Fault{{Pointer: at, Want: m.String(), Got: Show(v)}}
}

// object returns the matcher of objects with these members; if closed is set, with no others.
func (m Matcher) object(object map[string]any, closed bool) (Matcher, error) {
	want := make(map[string]Matcher, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var err error
		if want[key], err = ParseMatcher(object[key]); err != nil {
			return m, fmt.Errorf("%s: %w", key, err)
		}
	}
	m.check = func(s earlier, at string, v any) []Fault {
		if got, ok := v.(map[string]any); ok {
			return checkMembers(s, at, want, got, closed)
		}
		return m.fault(at, v)
	}
	return m, nil
}

// parse parses the object of a matcher with this key.
func (m Matcher) parse(key string, object map[string]any) (Matcher, error) {
	value := object[key]
	list, isList := value.([]any)
	members, isObject := value.(map[string]any)
	text, isText := value.(string)
	switch {
	case (key == "any_of" || key == "unordered") && !isList:
		return m, errors.New("needs a list")
	case key == "subset" && !isObject:
		return m, errors.New("needs an object")
	case key == "regex" && !isText:
		return m, errors.New("needs a pattern")
	case (key == "absent" || key == "ignore") && value != true:
		return m, fmt.Errorf("write %s: true", key)
	}
	switch key {
	case "any_of":
		items, err := parseList(list)
		m.optional = slices.ContainsFunc(items, func(item Matcher) bool { return item.optional })
		return m.when(func(s earlier, v any) bool {
			return slices.ContainsFunc(items, func(item Matcher) bool { return item.fits(s, v) })
		}), err
	case "unordered":
		items, err := parseList(list)
		return m.when(func(s earlier, v any) bool { return unordered(s, items, v) }), err
	case "optional":
		inner, err := ParseMatcher(value)
		m.optional, m.check = true, inner.check
		return m, err
	case "absent", "ignore":
		m.optional = true
		return m.when(func(earlier, any) bool { return key == "ignore" }), nil
	case "regex":
		pattern, err := regexp.Compile(text)
		return m.when(func(_ earlier, v any) bool {
			got, ok := v.(string)
			return ok && pattern.MatchString(got)
		}), err
	case "contains":
		inner, err := ParseMatcher(value)
		return m.when(func(s earlier, v any) bool {
			if got, ok := v.(string); ok {
				return isText && strings.Contains(got, text)
			}
			items, _ := v.([]any)
			return slices.ContainsFunc(items, func(item any) bool { return inner.fits(s, item) })
		}), err
	case "approx":
		return m.approx(object)
	case "subset":
		return m.object(members, false)
	case "schema":
		schema, err := toolhandler.NewSchema([]byte(Canonical(value)))
		return m.when(func(_ earlier, v any) bool { return schema.Check([]byte(Canonical(v))) == nil }), err
	}
	ref, at, _ := strings.Cut(text, "#") // from
	if ref == "" {
		return m, errors.New(`write it like "ref#/json/pointer"`)
	}
	return m.when(func(s earlier, v any) bool {
		return slices.ContainsFunc(s[ref], func(result any) bool {
			value, found := pointer(result, at)
			return found && Equal(value, v)
		})
	}), nil
}

// approx returns the matcher of numbers that are close.
func (m Matcher) approx(object map[string]any) (Matcher, error) {
	var number, abs, rel float64
	for key, to := range map[string]*float64{"approx": &number, "abs": &abs, "rel": &rel} {
		value, given := object[key]
		if !given {
			continue
		}
		n, ok := value.(json.Number)
		f, err := n.Float64()
		if !ok || err != nil || f < 0 && key != "approx" {
			return m, errors.New("needs a number, abs and rel none below zero")
		}
		*to = f
	}
	if abs == 0 && rel == 0 {
		rel = 1e-9
	}
	return m.when(func(_ earlier, v any) bool {
		n, ok := v.(json.Number)
		f, err := n.Float64()
		return ok && err == nil && math.Abs(f-number) <= max(abs, rel*math.Abs(number))
	}), nil
}

// A Fault is one difference between a call and the expected one.
type Fault struct {
	// Pointer is the place in the arguments, a JSON pointer.
	Pointer string `json:"pointer"`
	Want    string `json:"want"`
	Got     string `json:"got"`
}

// absent is how a missing value is shown.
const absent = "(absent)"

// earlier holds the results of earlier calls, by the refs of the expected calls that they may
// match.
type earlier map[string][]any

// checkMembers compares the members of an object; if closed is set, unexpected members are
// faults.
func checkMembers(s earlier, at string, want map[string]Matcher, got map[string]any, closed bool) []Fault {
	var faults []Fault
	for _, key := range slices.Sorted(maps.Keys(want)) {
		m := want[key]
		value, present := got[key]
		switch {
		case present:
			faults = append(faults, m.check(s, at+"/"+escape(key), value)...)
		case !m.optional:
			faults = append(faults, Fault{Pointer: at + "/" + escape(key), Want: m.String(), Got: absent})
		}
	}
	if !closed {
		return faults
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, expected := want[key]; !expected {
			faults = append(faults, Fault{Pointer: at + "/" + escape(key), Want: absent, Got: Show(got[key])})
		}
	}
	return faults
}

func (m *Matcher) checkList(s earlier, at string, want []Matcher, v any) []Fault {
	list, ok := v.([]any)
	if !ok || len(list) != len(want) {
		return m.fault(at, v)
	}
	var faults []Fault
	for i := range list {
		faults = append(faults, want[i].check(s, at+"/"+strconv.Itoa(i), list[i])...)
	}
	return faults
}

// unordered reports whether the items of a list can be paired so that each matches.
func unordered(s earlier, want []Matcher, v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) != len(want) {
		return false
	}
	pairs := assign(len(want), len(list), func(i, j int) float64 {
		if want[i].fits(s, list[j]) {
			return 1
		}
		return 0
	})
	return len(pairs) == len(list)
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

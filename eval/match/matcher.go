package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// kind says which field of a [Matcher] is used.
type kind string

// The kinds of matcher, named after their keys.
const (
	kindLiteral   kind = "literal"
	kindObject    kind = "object"
	kindList      kind = "list"
	kindAnyOf     kind = "any_of"
	kindOptional  kind = "optional"
	kindAbsent    kind = "absent"
	kindRegex     kind = "regex"
	kindContains  kind = "contains"
	kindApprox    kind = "approx"
	kindUnordered kind = "unordered"
	kindSubset    kind = "subset"
	kindSchema    kind = "schema"
	kindIgnore    kind = "ignore"
	kindFrom      kind = "from"
)

// A Matcher decides whether an argument has an accepted value. Create one with [ParseMatcher].
type Matcher struct {
	kind     kind
	literal  any
	list     []Matcher
	members  map[string]Matcher
	pattern  *regexp.Regexp
	number   float64
	abs, rel float64
	schema   *jsonschema.Schema
	ref      string // of kindFrom
	pointer  string
	raw      any // the source
}

// String returns the matcher's source.
func (m *Matcher) String() string { return Show(m.raw) }

// mayBeAbsent reports whether the argument may be omitted.
func (m *Matcher) mayBeAbsent() bool {
	switch m.kind {
	case kindOptional, kindAbsent, kindIgnore:
		return true
	case kindAnyOf:
		return slices.ContainsFunc(m.list, func(m Matcher) bool { return m.mayBeAbsent() })
	}
	return false
}

// ParseMatcher parses a matcher: a literal, or an object with one of the keys any_of, optional,
// absent, regex, contains, approx (with abs or rel), unordered, subset, schema, ignore, from.
// Literal objects and lists may contain matchers.
func ParseMatcher(v any) (Matcher, error) {
	v = Normal(v)
	object, ok := v.(map[string]any)
	if !ok {
		if list, isList := v.([]any); isList {
			items, err := parseList(list)
			return Matcher{kind: kindList, list: items, raw: v}, err
		}
		return Matcher{kind: kindLiteral, literal: v, raw: v}, nil
	}
	if which, isMatcher := matcherKey(object); isMatcher {
		m, err := parseKind(which, object)
		m.raw = v
		return m, err
	}
	members := make(map[string]Matcher, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		m, err := ParseMatcher(object[key])
		if err != nil {
			return Matcher{}, fmt.Errorf("%s: %w", key, err)
		}
		members[key] = m
	}
	return Matcher{kind: kindObject, members: members, raw: v}, nil
}

// matcherKey finds the key that makes an object a matcher. No other key is allowed, except for
// the tolerances of approx.
func matcherKey(object map[string]any) (kind, bool) {
	if _, ok := object[string(kindApprox)]; ok {
		for key := range object {
			if key != string(kindApprox) && key != "abs" && key != "rel" {
				return "", false
			}
		}
		return kindApprox, true
	}
	if len(object) != 1 {
		return "", false
	}
	for key := range object {
		switch k := kind(key); k {
		case kindAnyOf, kindOptional, kindAbsent, kindRegex, kindContains, kindUnordered, kindSubset, kindSchema, kindIgnore, kindFrom:
			return k, true
		}
	}
	return "", false
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

// parseKind parses the value of a matcher's key.
func parseKind(which kind, object map[string]any) (m Matcher, err error) {
	value := object[string(which)]
	m = Matcher{kind: which}
	switch which {
	case kindAnyOf, kindUnordered:
		list, ok := value.([]any)
		if !ok {
			return m, fmt.Errorf("%s: needs a list", which)
		}
		m.list, err = parseList(list)
	case kindOptional:
		var inner Matcher
		inner, err = ParseMatcher(value)
		m.list = []Matcher{inner}
	case kindAbsent, kindIgnore:
		if value != true {
			return m, fmt.Errorf("%s: write %s: true", which, which)
		}
	case kindRegex:
		text, ok := value.(string)
		if !ok {
			return m, fmt.Errorf("%s: needs a pattern", which)
		}
		m.pattern, err = regexp.Compile(text)
	case kindContains:
		var inner Matcher
		inner, err = ParseMatcher(value)
		m.literal, m.list = value, []Matcher{inner}
	case kindApprox:
		return parseApprox(object)
	case kindSubset:
		members, ok := value.(map[string]any)
		if !ok {
			return m, fmt.Errorf("%s: needs an object", which)
		}
		m.members = make(map[string]Matcher, len(members))
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if m.members[key], err = ParseMatcher(members[key]); err != nil {
				return m, fmt.Errorf("%s: %s: %w", which, key, err)
			}
		}
	case kindSchema:
		m.schema, err = compile(value)
	case kindFrom:
		text, ok := value.(string)
		if m.ref, m.pointer, _ = strings.Cut(text, "#"); !ok || m.ref == "" {
			return m, fmt.Errorf(`%s: write it like "ref#/json/pointer"`, which)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", which, err)
	}
	return m, err
}

func parseApprox(object map[string]any) (Matcher, error) {
	m := Matcher{kind: kindApprox}
	for key, to := range map[string]*float64{string(kindApprox): &m.number, "abs": &m.abs, "rel": &m.rel} {
		value, given := object[key]
		if !given {
			continue
		}
		n, ok := value.(json.Number)
		f, err := n.Float64()
		if !ok || err != nil || f < 0 && key != string(kindApprox) {
			return m, fmt.Errorf("%s: needs a number, abs and rel none below zero", key)
		}
		*to = f
	}
	if m.abs == 0 && m.rel == 0 {
		m.rel = 1e-9
	}
	return m, nil
}

// compile compiles a JSON Schema whose references must stay inside it.
func compile(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q: only references inside the schema are followed", url)
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

// check compares a value with the matcher and returns the differences.
func (m *Matcher) check(s earlier, at string, v any) []Fault {
	wrong := func() []Fault { return []Fault{{Pointer: at, Want: m.String(), Got: Show(v)}} }
	ok := true
	switch m.kind {
	case kindIgnore:
	case kindLiteral:
		ok = Equal(m.literal, v)
	case kindObject:
		return m.checkObject(s, at, v, true)
	case kindSubset:
		return m.checkObject(s, at, v, false)
	case kindList:
		return m.checkList(s, at, v)
	case kindAnyOf:
		ok = slices.ContainsFunc(m.list, func(m Matcher) bool { return len(m.check(s, at, v)) == 0 })
	case kindOptional:
		return m.list[0].check(s, at, v)
	case kindAbsent:
		ok = false
	case kindRegex:
		text, isText := v.(string)
		ok = isText && m.pattern.MatchString(text)
	case kindContains:
		ok = m.contained(s, at, v)
	case kindApprox:
		ok = m.close(v)
	case kindUnordered:
		list, isList := v.([]any)
		ok = isList && m.unordered(s, at, list)
	case kindSchema:
		ok = m.schema.Validate(v) == nil
	case kindFrom:
		ok = slices.ContainsFunc(s[m.ref], func(result any) bool {
			value, found := pointer(result, m.pointer)
			return found && Equal(value, v)
		})
	}
	if ok {
		return nil
	}
	return wrong()
}

func (m *Matcher) checkObject(s earlier, at string, v any, closed bool) []Fault {
	object, ok := v.(map[string]any)
	if !ok {
		return []Fault{{Pointer: at, Want: m.String(), Got: Show(v)}}
	}
	return checkMembers(s, at, m.members, object, closed)
}

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
		case !m.mayBeAbsent():
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

func (m *Matcher) checkList(s earlier, at string, v any) []Fault {
	list, ok := v.([]any)
	if !ok || len(list) != len(m.list) {
		return []Fault{{Pointer: at, Want: m.String(), Got: Show(v)}}
	}
	var faults []Fault
	for i := range list {
		faults = append(faults, m.list[i].check(s, at+"/"+strconv.Itoa(i), list[i])...)
	}
	return faults
}

// contained reports whether a text contains a text, or a list an item.
func (m *Matcher) contained(s earlier, at string, v any) bool {
	switch v := v.(type) {
	case string:
		part, ok := m.literal.(string)
		return ok && strings.Contains(v, part)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return len(m.list[0].check(s, at, item)) == 0 })
	}
	return false
}

func (m *Matcher) close(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	return err == nil && math.Abs(f-m.number) <= max(m.abs, m.rel*math.Abs(m.number))
}

// unordered reports whether the items can be paired so that each matches.
func (m *Matcher) unordered(s earlier, at string, list []any) bool {
	if len(list) != len(m.list) {
		return false
	}
	pairs := assign(len(m.list), len(list), func(i, j int) float64 {
		if len(m.list[i].check(s, at, list[j])) == 0 {
			return 1
		}
		return 0
	})
	return len(pairs) == len(list)
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"molar/eval/bfcl"
)

// bySchema compares with the tool's schema in hand.
func (c *comparison) bySchema(s *scope, want map[string]Matcher, got map[string]any, schema json.RawMessage) {
	doc, err := Decode(schema)
	object, ok := doc.(map[string]any)
	if len(schema) == 0 || err != nil || !ok {
		c.faults = checkMembers(s, "", want, got, true)
		return
	}
	got = maps.Clone(got)
	properties, _ := object["properties"].(map[string]any)
	want = maps.Clone(want)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		if value, changed := coerce(property, got[name]); changed {
			c.coerced = append(c.coerced, fmt.Sprintf("/%s: %s as %s", escape(name), Show(got[name]), Show(value)))
			got[name] = value
		}
		fallback, hasDefault := property["default"]
		if !hasDefault {
			continue
		}
		_, given := got[name]
		m, expected := want[name]
		switch {
		case !given && expected && m.kind != kindAbsent && m.kind != kindOptional:
			got[name] = fallback
		case given && !expected:
			want[name] = Matcher{kind: kindOptional, list: []Matcher{{kind: kindLiteral, literal: fallback, raw: fallback}}, raw: fallback}
		}
	}
	c.faults = checkMembers(s, "", want, got, true)
	if compiled, err := compile(object); err == nil {
		if err := compiled.Validate(got); err != nil {
			c.faults = append(c.faults, Fault{Want: "arguments that fit the tool's schema", Got: firstLine(err)})
		}
	}
}

func firstLine(err error) string {
	text := strings.TrimSpace(err.Error())
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = strings.TrimLeft(rest, "- ")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// coerce turns a text into the number or truth value that the schema wants.
func coerce(property map[string]any, v any) (any, bool) {
	text, ok := v.(string)
	if !ok {
		return v, false
	}
	switch property["type"] {
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return json.Number(strings.TrimPrefix(text, "+")), true
		}
	case "number":
		if n, err := Decode([]byte(text)); err == nil {
			if n, ok := n.(json.Number); ok {
				return n, true
			}
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil && len(text) > 1 {
			return b, true
		}
	}
	return v, false
}

// bfcl compares by the benchmark's rules, with the expectation in its form.
func (c *comparison) bfcl(e *Expected, m *Made) {
	calls, verdict := bfcl.Parse([]bfcl.RawCall{rawCall(m)})
	if verdict.Valid {
		function := bfclFunction(m)
		verdict = bfcl.CheckCall("", &function, bfclAnswer(e, m.Name), calls[0])
	}
	if !verdict.Valid {
		f := Fault{Want: e.show(), Got: verdict.Type + ": " + verdict.Reason}
		if m, known := e.Args[verdict.Param]; verdict.Param != "" {
			f.Pointer, f.Want = "/"+escape(verdict.Param), absent
			if known {
				f.Want = m.String()
			}
		}
		c.faults = append(c.faults, f)
	}
}

func (e *Expected) show() string {
	args := make(map[string]any, len(e.Args))
	for name, m := range e.Args {
		args[name] = m.raw
	}
	return Show(args)
}

func rawCall(m *Made) bfcl.RawCall {
	var raw bfcl.RawCall
	raw.Function.Name, raw.Function.Arguments = m.Name, bfcl.Arguments(m.Arguments)
	return raw
}

// bfclFunction reads the declared types out of a JSON Schema, in the benchmark's
// words.
func bfclFunction(m *Made) bfcl.Function {
	var schema struct {
		Properties map[string]struct {
			Type  any `json:"type"`
			Items struct {
				Type any `json:"type"`
			} `json:"items"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(m.Schema, &schema) // without a schema there is nothing to demand
	f := bfcl.Function{Name: m.Name, Required: schema.Required, Params: make(map[string]bfcl.Param)}
	for name, p := range schema.Properties {
		param := bfcl.Param{Type: "any"}
		if t, ok := p.Type.(string); ok {
			param.Type = t
		}
		if t, ok := p.Items.Type.(string); ok {
			param.Item = t
		}
		f.Params[name] = param
	}
	return f
}

// bfclAnswer gives the matchers the form of lists of accepted values.
func bfclAnswer(e *Expected, name string) *bfcl.Answer {
	a := &bfcl.Answer{Name: name}
	for _, param := range slices.Sorted(maps.Keys(e.Args)) {
		m := e.Args[param]
		a.Accepted = append(a.Accepted, bfcl.Accepted{Param: param, Values: m.accepted()})
	}
	return a
}

// accepted are the values that a matcher takes; the empty text marks what may be left
// out.
func (m *Matcher) accepted() []any {
	switch m.kind {
	case kindAnyOf:
		var all []any
		for i := range m.list {
			all = append(all, m.list[i].accepted()...)
		}
		return all
	case kindOptional:
		return append(m.list[0].accepted(), "")
	case kindAbsent, kindIgnore:
		return []any{""}
	}
	return []any{m.plain()}
}

// plain is the value of a matcher with the keys of objects as lists of accepted
// values.
func (m *Matcher) plain() any {
	switch m.kind {
	case kindObject:
		object := bfcl.Object{}
		for _, key := range slices.Sorted(maps.Keys(m.members)) {
			inner := m.members[key]
			object = append(object, bfcl.Member{Key: key, Value: inner.accepted()})
		}
		return object
	case kindList:
		list := make([]any, len(m.list))
		for i := range m.list {
			list[i] = m.list[i].plain()
		}
		return list
	case kindLiteral:
		return m.literal
	}
	return m.raw
}

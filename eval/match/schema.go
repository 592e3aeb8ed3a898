package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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

func (e *Expected) show() string {
	args := make(map[string]any, len(e.Args))
	for name, m := range e.Args {
		args[name] = m.raw
	}
	return Show(args)
}

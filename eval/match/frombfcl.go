package match

import (
	"encoding/json"
	"fmt"
	"strings"

	"molar/eval/bfcl"
)

// PlanOf makes a plan of the accepted answers of a benchmark case: parallel calls in
// any order, others exact.
func PlanOf(c bfcl.Case, category string, policy Policy) (Plan, error) {
	p := Plan{Mode: ModeExact, Policy: policy}
	switch {
	case strings.Contains(category, "irrelevance"):
		p.NoCall = true
		return p, nil
	case strings.Contains(category, "relevance"):
		p.Mode = ModeSuperset
		return p, nil
	case strings.Contains(category, "parallel"):
		p.Mode = ModeAnyOrder
	}
	if len(c.Answers) == 0 {
		return p, fmt.Errorf("case %q has no accepted answer", c.ID)
	}
	for _, answer := range c.Answers {
		e := Expected{Name: answer.Name, Args: make(map[string]Matcher)}
		for _, accepted := range answer.Accepted {
			m, err := ParseMatcher(acceptedMatcher(accepted.Values))
			if err != nil {
				return p, fmt.Errorf("case %q: %s: %w", c.ID, accepted.Param, err)
			}
			e.Args[accepted.Param] = m
		}
		p.Items = append(p.Items, e)
	}
	return p, nil
}

// acceptedMatcher writes a list of accepted values as a matcher: any_of, and optional
// where the empty text is among them.
func acceptedMatcher(values []any) any {
	var options []any
	optional := false
	for _, v := range values {
		if v == "" {
			optional = true
			continue
		}
		options = append(options, acceptedValue(v))
	}
	var m any
	switch len(options) {
	case 0:
		m = ""
	case 1:
		m = options[0]
	default:
		m = map[string]any{"any_of": options}
	}
	if optional {
		return map[string]any{"optional": m}
	}
	return m
}

// acceptedValue writes one accepted value: the keys of objects hold lists of accepted
// values of their own.
func acceptedValue(v any) any {
	switch v := v.(type) {
	case bfcl.Object:
		object := make(map[string]any, len(v))
		for _, m := range v {
			if list, ok := m.Value.([]any); ok {
				object[m.Key] = acceptedMatcher(list)
				continue
			}
			object[m.Key] = acceptedValue(m.Value)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = acceptedValue(v[i])
		}
		return list
	}
	return v
}

// AcceptedMatcher is the matcher, as a person would write it, of one argument's
// accepted values.
func AcceptedMatcher(a bfcl.Accepted) any { return acceptedMatcher(a.Values) }

// Judge scores one line of calls against its benchmark case. An invalid line comes
// with the first thing that is wrong.
func Judge(c bfcl.Case, line bfcl.Line, policy Policy) (valid bool, reason string, err error) {
	if policy == PolicyBFCL {
		v := c.Judge(line)
		if v.Valid {
			return true, "", nil
		}
		return false, v.Type + ": " + v.Reason, nil
	}
	category := line.Category
	if category == "" {
		category = c.Category
	}
	plan, err := PlanOf(c, category, policy)
	if err != nil {
		return false, "", err
	}
	made := make([]Made, len(line.Calls))
	for i, call := range line.Calls {
		made[i] = Made{Name: call.Function.Name, Arguments: string(call.Function.Arguments), Schema: schemaOf(c, call.Function.Name)}
	}
	if len(plan.Items) == 0 && !plan.NoCall && len(made) == 0 {
		return false, "a call was expected, and none was made", nil
	}
	if a := plan.Compare(made); !a.Valid {
		return false, a.Faults[0], nil
	}
	return true, "", nil
}

func schemaOf(c bfcl.Case, name string) json.RawMessage {
	for _, tool := range c.Tools {
		if tool.Name == name {
			if schema, err := bfcl.JSONSchema(tool.Parameters); err == nil {
				return schema
			}
		}
	}
	return nil
}

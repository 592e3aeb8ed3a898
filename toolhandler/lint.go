package toolhandler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"molar/schemas"
	"molar/schemas/lower"
)

// A Finding is the result of lowering one tool for one provider.
type Finding struct {
	Tool string `json:"tool"`
	// Class is how the policy auto classifies the tool, and Why the evidence.
	Class Class  `json:"class"`
	Why   string `json:"why"`
	// Arguments are what each argument is for.
	Arguments []Argument `json:"arguments,omitempty"`
	// Remarks are about its definition, whatever the provider.
	Remarks  []string `json:"remarks,omitempty"`
	Provider string   `json:"provider"`
	// Refused is why the tool is not offered to the provider.
	Refused string `json:"refused,omitempty"`
	// Notes list the changes.
	Notes  []string        `json:"notes,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Tools lowers the input schemas of tools for each of the services. refused counts the offers that
// cannot be made: the lowering failed, or refusedBefore returns a refusal of the tool by the provider's
// service. schemasToo adds the schemas before and after.
func Tools(tools []schemas.Tool, services []lower.Lowering, refusedBefore func(provider string, tool schemas.ToolInfo) (schemas.Refusal, bool), schemasToo bool) (findings []Finding, refused int) {
	findings = []Finding{}
	for _, tool := range tools {
		class, why := Classify(tool)
		remarks := Remarks(tool, tools)
		for _, l := range services {
			f := Finding{Tool: tool.Name, Class: class, Why: why, Arguments: Arguments(tool), Remarks: slices.Clone(remarks), Provider: l.Service}
			result, err := l.Lower(tool.InputSchema)
			if err != nil {
				f.Refused = err.Error()
			} else if r, ok := refusedBefore(l.Service, tool.ToolInfo); ok {
				f.Refused = r.String()
			}
			if f.Refused != "" {
				refused++
			}
			f.Notes = slices.Concat(tooLong(tool, l), result.Notes, moved("", parsed(tool.InputSchema), parsed(result.Schema)))
			if schemasToo {
				f.Before, f.After = tool.InputSchema, result.Schema
			}
			findings = append(findings, f)
		}
	}
	return findings, refused
}

// tooLong notes that a service does not take all of a tool's description.
func tooLong(tool schemas.Tool, l lower.Lowering) []string {
	n := utf8.RuneCountInString(tool.Description)
	if l.MaxDescription == 0 || n <= l.MaxDescription {
		return nil
	}
	return []string{fmt.Sprintf("its description has %d characters, of which the service takes %d", n, l.MaxDescription)}
}

// Remarks are about the definition of a tool among all, whatever the provider: what of it calls are not
// checked against, and whom it steers to.
func Remarks(tool schemas.Tool, all []schemas.Tool) []string {
	return append(Unchecked(tool), Steers(tool, all)...)
}

func parsed(schema json.RawMessage) any {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil
	}
	return v
}

// moved returns the keywords that lowering removed from a schema: the provider does not support
// them, so the description states them.
func moved(at string, before, after any) []string {
	was, ok := before.(map[string]any)
	is, same := after.(map[string]any)
	if !ok || !same {
		return nil
	}
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(was)) {
		value, kept := is[key]
		if !kept {
			notes = append(notes, fmt.Sprintf("%s: %q is not sent as a keyword", cmp.Or(at, "/"), key))
			continue
		}
		notes = append(notes, moved(at+"/"+key, was[key], value)...)
	}
	return notes
}

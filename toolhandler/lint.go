package toolhandler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"molar/schemas"
	"molar/schemas/lower"
)

// A lowering makes an input schema fit for a provider.
type lowering struct {
	provider string
	lower    func(json.RawMessage) (lower.Result, error)
}

func lowerings() []lowering {
	return []lowering{{"gemini", lower.ForGemini}, {"ollama", lower.ForOllama}, {"openai", lower.ForOpenAI}}
}

// A Finding is what lowering one tool for one provider did.
type Finding struct {
	Tool string `json:"tool"`
	// Class is what the policy auto takes the tool for, and Why says what for.
	Class Class  `json:"class"`
	Why   string `json:"why"`
	// Sends names the arguments by which a reader can carry text to its server.
	Sends    []string `json:"sends,omitempty"`
	Provider string   `json:"provider"`
	// Refused is why the provider is not offered the tool.
	Refused string `json:"refused,omitempty"`
	// Notes say what was changed.
	Notes  []string        `json:"notes,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Tools lowers the input schemas of tools for every provider. refused counts the offers
// that cannot be made: the lowering failed, or kept tells that the provider's service refused
// the tool. The schemas before and after are part of it if they are wanted.
func Tools(tools []schemas.Tool, kept func(provider string, tool schemas.ToolInfo) (schemas.Refusal, bool), schemasToo bool) (findings []Finding, refused int) {
	findings = []Finding{}
	for _, tool := range tools {
		class, why := Classify(tool)
		for _, l := range lowerings() {
			f := Finding{Tool: tool.Name, Class: class, Why: why, Sends: Sends(tool), Provider: l.provider}
			result, err := l.lower(tool.InputSchema)
			if err != nil {
				f.Refused = err.Error()
			} else if r, ok := kept(l.provider, tool.ToolInfo); ok {
				f.Refused = r.String()
			}
			if f.Refused != "" {
				refused++
			}
			f.Notes = slices.Concat(result.Notes, moved("", parsed(tool.InputSchema), parsed(result.Schema)))
			if schemasToo {
				f.Before, f.After = tool.InputSchema, result.Schema
			}
			findings = append(findings, f)
		}
	}
	return findings, refused
}

func parsed(schema json.RawMessage) any {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return nil
	}
	return v
}

// moved lists the keywords that a schema had and its lowered form has not: the
// provider does not know them, so the description says them.
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

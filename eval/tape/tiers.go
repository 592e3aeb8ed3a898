package tape

import (
	"maps"
	"slices"

	"molar/eval/match"
)

// The tiers of a changed tool, by the effect on its callers.
const (
	TierBreaking  = "breaking"
	TierDangerous = "dangerous"
	TierMinor     = "minor"
)

// schemaRule returns the rule and tier of the worst change between two schemas in canonical
// JSON. Unknown changes are breaking.
func schemaRule(before, after string) (rule, tier string) {
	a, errA := match.Decode([]byte(before))
	b, errB := match.Decode([]byte(after))
	x, okA := parametersOf(a)
	y, okB := parametersOf(b)
	if errA != nil || errB != nil || !okA || !okB {
		return "schema-changed", TierBreaking
	}
	worst := ""
	note := func(r string) {
		if worst == "" || tierOf(r) == TierBreaking && tierOf(worst) != TierBreaking ||
			tierOf(r) == TierDangerous && tierOf(worst) == TierMinor {
			worst = r
		}
	}
	compareSchemas(x, y, note)
	if worst == "" {
		worst = "schema-changed"
	}
	return worst, tierOf(worst)
}

func tierOf(rule string) string {
	switch rule {
	case "optional-added", "default-changed", "enum-value-added":
		return TierDangerous
	case "text-changed":
		return TierMinor
	}
	return TierBreaking
}

// parametersOf returns the schema of a function's arguments.
func parametersOf(v any) (map[string]any, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for _, key := range []string{"parameters", "parametersJsonSchema", "inputSchema"} {
		if inner, there := object[key].(map[string]any); there {
			return inner, true
		}
	}
	return object, true
}

// compareSchemas calls note with the rule of each change between two schemas.
func compareSchemas(a, b map[string]any, note func(string)) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if match.Equal(a[key], b[key]) {
			continue
		}
		switch key {
		case "description", "title", "examples", "$comment":
			note("text-changed")
		case "default":
			note("default-changed")
		case "type":
			note("type-changed")
		case "enum":
			compareSets(a[key], b[key], "enum-value-removed", "enum-value-added", note)
		case "required":
			compareSets(b[key], a[key], "newly-required", "optional-added", note)
		case "properties":
			compareProperties(a, b, note)
		case "items":
			x, okX := a[key].(map[string]any)
			y, okY := b[key].(map[string]any)
			if !okX || !okY {
				note("type-changed")
				continue
			}
			compareSchemas(x, y, note)
		default:
			note("schema-changed")
		}
	}
}

// compareSets calls note for each value that only one of two lists contains.
func compareSets(a, b any, onlyA, onlyB string, note func(string)) {
	x, _ := a.([]any)
	y, _ := b.([]any)
	has := func(list []any, v any) bool {
		return slices.ContainsFunc(list, func(item any) bool { return match.Equal(item, v) })
	}
	for _, v := range x {
		if !has(y, v) {
			note(onlyA)
		}
	}
	for _, v := range y {
		if !has(x, v) {
			note(onlyB)
		}
	}
}

func compareProperties(a, b map[string]any, note func(string)) {
	x, _ := a["properties"].(map[string]any)
	y, _ := b["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(x)) {
		before, _ := x[name].(map[string]any)
		after, there := y[name].(map[string]any)
		if !there {
			note("argument-removed")
			continue
		}
		compareSchemas(before, after, note)
	}
	for name := range y {
		if _, there := x[name]; !there {
			note("optional-added") // a required one is noted by "required"
		}
	}
}

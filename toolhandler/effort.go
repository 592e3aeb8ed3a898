package toolhandler

import (
	"errors"
	"strings"
)

const (
	// maxEffort bounds the effort that a schema takes to be compiled, which grows with its square.
	maxEffort = 10_000
	// A part counts more for each bytesPerStep of its place in the schema; a reference more if it is the first
	// one to a place, as may a dynamic anchor; a pattern by its length, a list by its values.
	bytesPerStep, placeSteps, anchorSteps, patternSteps, valuesPerStep = 64, 5, 3, 10, 50
)

// errTooLarge reports a schema that is not compiled.
var errTooLarge = errors.New("the schema is too large to be checked: it has too many parts, references or patterns, or they nest too deep")

// effort returns how many steps it takes to compile a schema. Each may look at all the others.
func effort(doc any) int {
	steps, places := 0, map[string]bool{}
	pattern := func(text string) { steps += patternSteps + len(text)/2 }
	var walk func(part any, place int)
	walk = func(part any, place int) {
		switch part := part.(type) {
		case bool:
			steps += 1 + place/bytesPerStep
		case []any:
			steps += len(part) / valuesPerStep
			for _, inner := range part {
				walk(inner, place+2)
			}
		case map[string]any:
			steps += 1 + place/bytesPerStep
			for key, inner := range part {
				walk(inner, place+1+len(key))
				switch text, isText := inner.(string); {
				case key == "patternProperties":
					named, _ := inner.(map[string]any)
					for name := range named {
						pattern(name)
					}
				case !isText:
				case key == "pattern":
					pattern(text)
				case key == "$dynamicAnchor":
					steps += anchorSteps
				case strings.HasPrefix(key, "$") && strings.HasSuffix(strings.ToLower(key), "ref"):
					if steps++; !places[text] {
						places[text] = true
						steps += placeSteps
					}
				}
			}
		}
	}
	walk(doc, 0)
	return steps
}

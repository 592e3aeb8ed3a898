package eval

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/invopop/jsonschema"

	"molar/internal/text"
)

// Schema returns the JSON Schema of case files, for editors: a case, or a suite.
func Schema() ([]byte, error) {
	data, err := json.MarshalIndent(caseSchema(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of cases: %w", err)
	}
	return append(data, '\n'), nil
}

func caseSchema() *jsonschema.Schema {
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true}
	s := &jsonschema.Schema{Version: jsonschema.Version, Title: "cases of molar eval"}
	for _, form := range []any{&Case{}, &suiteFile{}} {
		one := r.Reflect(form)
		one.Version = ""
		s.AnyOf = append(s.AnyOf, one)
	}
	return s
}

// schemaKeys returns all property names in a schema, at any depth.
func schemaKeys(s *jsonschema.Schema) (known []string) {
	if s == nil {
		return nil
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			known = append(append(known, p.Key), schemaKeys(p.Value)...)
		}
	}
	for _, one := range s.AnyOf {
		known = append(known, schemaKeys(one)...)
	}
	return append(known, schemaKeys(s.Items)...)
}

// withRemedy adds to an error about an unknown key what to write instead: the closest known key,
// or what replaces a key of older files. The source has the value of that key.
func withRemedy(fault, source string) string {
	name := regexp.MustCompile(`unknown field "(.*)"`).FindStringSubmatch(fault)
	if name == nil {
		return fault
	}
	near := text.Nearest(name[1], schemaKeys(caseSchema()))
	switch {
	case name[1] == "mode":
		return insteadOfMode(source)
	case name[1] == "policy":
		return "there is no policy any more: a request that differs from the tape is drift, and --live compares none; remove it"
	case name[1] == "faults":
		return fault + ": faults are no part of a case; ask a model behind one with molar eval run --fault tool:GLOB=error --from-drift live"
	case near == name[1]:
		return fault + ", which belongs to another part of the file"
	case near != "":
		return fmt.Sprintf("%s, did you mean %q?", fault, near)
	}
	return fault
}

// insteadOfMode says what replaces the mode of calls that the source names.
func insteadOfMode(source string) string {
	instead := "write order: true if the order of the items matters, and others: true if other calls are allowed"
	mode := regexp.MustCompile(`\bmode"?\s*:\s*"?(exact|in_order|any_order|dag|subset|superset)\b`).FindStringSubmatch(source)
	if mode == nil {
		return "calls have no mode any more: " + instead
	}
	switch mode[1] {
	case "exact":
		instead = "write order: true"
	case "in_order":
		instead = "write order: true and others: true"
	case "superset":
		instead = "write others: true"
	case "subset":
		instead = "write optional: true in each item"
	default:
		instead = "leave it out"
	}
	return fmt.Sprintf("calls have no mode any more: instead of mode: %s %s", mode[1], instead)
}

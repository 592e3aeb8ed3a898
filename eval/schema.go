package eval

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/invopop/jsonschema"

	"molar/internal/nearest"
)

// Schema returns the JSON Schema of a file of cases, for editors: a case, or a suite.
func Schema() ([]byte, error) {
	data, err := json.MarshalIndent(schemaOf(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of cases: %w", err)
	}
	return append(data, '\n'), nil
}

func schemaOf() *jsonschema.Schema {
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true}
	s := &jsonschema.Schema{Version: jsonschema.Version, Title: "cases of molar eval"}
	for _, form := range []any{&Case{}, &suiteFile{}} {
		one := r.Reflect(form)
		one.Version = ""
		s.AnyOf = append(s.AnyOf, one)
	}
	return s
}

// meant adds to the fault of an unknown key which one may have been meant.
func meant(fault string) string {
	name := regexp.MustCompile(`unknown field "(.*)"`).FindStringSubmatch(fault)
	if name == nil {
		return fault
	}
	if near := nearest.To(name[1], keysOf(schemaOf(), nil)); near != "" {
		return fmt.Sprintf("%s, did you mean %q?", fault, near)
	}
	return fault
}

// keysOf are all keys that a schema knows, at any depth.
func keysOf(s *jsonschema.Schema, known []string) []string {
	if s == nil {
		return known
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			known = keysOf(p.Value, append(known, p.Key))
		}
	}
	for _, one := range s.AnyOf {
		known = keysOf(one, known)
	}
	return keysOf(s.Items, known)
}

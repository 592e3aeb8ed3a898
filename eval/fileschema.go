package eval

import "github.com/invopop/jsonschema"

// schemaOf returns the JSON Schema of a file that has one of the given forms, which are structs
// with yaml tags.
func schemaOf(title string, forms ...any) *jsonschema.Schema {
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true}
	s := &jsonschema.Schema{Version: jsonschema.Version, Title: title}
	for _, form := range forms {
		one := r.Reflect(form)
		one.Version = ""
		s.AnyOf = append(s.AnyOf, one)
	}
	return s
}

// schemaKeys returns all property names in a schema, at any depth.
func schemaKeys(s *jsonschema.Schema) []string { return appendKeys(s, nil) }

func appendKeys(s *jsonschema.Schema, known []string) []string {
	if s == nil {
		return known
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			known = appendKeys(p.Value, append(known, p.Key))
		}
	}
	for _, one := range s.AnyOf {
		known = appendKeys(one, known)
	}
	return appendKeys(s.Items, known)
}

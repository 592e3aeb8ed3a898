package config

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"molar/schemas"
)

// JSONSchema describes a Map as an object with arbitrary keys.
func (Map[V]) JSONSchema() *jsonschema.Schema {
	value := reflector(scalarSchema).Reflect(new(V))
	value.Version = ""
	return &jsonschema.Schema{Type: "object", AdditionalProperties: value}
}

// reflector returns a reflector that names properties by the yaml tags. The schemas that mapper
// returns take precedence.
func reflector(mapper func(reflect.Type) *jsonschema.Schema) *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		Mapper:                     mapper,
	}
}

// scalarSchema returns the schema of the types whose form in YAML differs from their Go type, and
// nil for all others.
func scalarSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Examples: []any{"60s", "5m"}}
	case reflect.TypeFor[schemas.Rate]():
		return &jsonschema.Schema{Type: "string", Examples: []any{"20/h", "5/m"}}
	case reflect.TypeFor[Size]():
		return anyOf("string", "integer")
	case reflect.TypeFor[schemas.Secret]():
		return anyOf("string", "number", "boolean")
	case reflect.TypeFor[KeepAlive]():
		return anyOf("string", "integer")
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Type: "object"}
	default:
		return nil
	}
}

func anyOf(types ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, t := range types {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: t})
	}
	return s
}

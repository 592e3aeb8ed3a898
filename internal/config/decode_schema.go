package config

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"molar/schemas"
)

// JSONSchema describes a Map as an object whose keys are the user's.
func (DecodedMap[V]) JSONSchema() *jsonschema.Schema {
	value := reflector(scalarSchema).Reflect(new(V))
	value.Version = ""
	return &jsonschema.Schema{Type: "object", AdditionalProperties: value}
}

// reflector describes structs by their yaml tags; mapper is asked for types first.
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

// scalarSchema describes the types that YAML writes otherwise than Go holds them.
func scalarSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Examples: []any{"60s", "5m"}}
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

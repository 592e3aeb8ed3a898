package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

//go:embed example.yaml
var example string

// Example returns the commented molar.yaml that "config init" writes. It loads as
// it is and changes no default.
func Example() []byte { return []byte(example) }

// Schema returns the JSON Schema (2020-12) of molar.yaml, for editors.
func Schema() ([]byte, error) {
	s := reflector().Reflect(&Config{})
	s.Title = "molar.yaml"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of the config: %w", err)
	}
	return append(data, '\n'), nil
}

// JSONSchema describes a Map as an object whose keys are the user's.
func (Map[V]) JSONSchema() *jsonschema.Schema {
	value := reflector().Reflect(new(V))
	value.Version = ""
	return &jsonschema.Schema{Type: "object", AdditionalProperties: value}
}

func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		Mapper:                     scalarSchema,
	}
}

// scalarSchema describes the types that YAML writes otherwise than Go holds them.
func scalarSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Examples: []any{"60s", "5m"}}
	case reflect.TypeFor[Size]():
		return anyOf("string", "integer")
	case reflect.TypeFor[Secret]():
		return anyOf("string", "number", "boolean")
	case reflect.TypeFor[Providers]():
		name := jsonschema.Schema{Type: "string", Enum: toAny(providerNames())}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{&name, {Type: "array", Items: &name}}}
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

func toAny(names []string) []any {
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = name
	}
	return values
}

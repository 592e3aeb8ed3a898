package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

//go:embed example.yaml
var example string

// Example returns the commented molar.yaml that "config init" writes. It is valid and changes no
// default.
func Example() []byte { return []byte(example) }

// Schema returns the JSON Schema (2020-12) of molar.yaml, for editors.
func Schema() ([]byte, error) {
	s := reflector(withProviders).Reflect(&Config{})
	s.Title = "molar.yaml"
	nameProviders(s)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of the config: %w", err)
	}
	return append(data, '\n'), nil
}

// nameProviders adds the names of the providers to the schema, where struct tags cannot contain
// them.
func nameProviders(s *jsonschema.Schema) {
	llm, _ := s.Properties.Get("llm")
	order, _ := llm.Properties.Get("provider")
	order.Description = oneOf(append(ProviderNames(), "a name in llm.providers")) + ", or a list of them in the order of fallback."
	small, _ := llm.Properties.Get("small")
	*small = *providerName(small.Description)
	named, _ := llm.Properties.Get("providers")
	named.PropertyNames = &jsonschema.Schema{Pattern: endpointName}
	endpointSchema(named.AdditionalProperties)
	assistants, _ := s.Properties.Get("assistants")
	one, _ := assistants.AdditionalProperties.Properties.Get("provider")
	*one = *providerName(one.Description)
}

// providerName returns the schema of a provider's name: one of the known ones, or one in llm.providers.
func providerName(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, Pattern: endpointName, Examples: toAny(ProviderNames())}
}

// withProviders returns the schema of [Providers], and [scalarSchema]
// for all
// other types.
func withProviders(t reflect.Type) *jsonschema.Schema {
	if t != reflect.TypeFor[Providers]() {
		return scalarSchema(t)
	}
	name := providerName("")
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{name, {Type: "array", Items: name}}}
}

func toAny(names []string) []any {
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = name
	}
	return values
}

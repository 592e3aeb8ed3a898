package wire

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A SchemaCheck finds faults in the JSON Schemas that clients send. The zero value is ready, and
// safe for concurrent use.
type SchemaCheck struct {
	once  sync.Once
	metas []*jsonschema.Schema
}

// Check refuses a value that is no JSON Schema object of draft 4, 7 or 2020-12. at is its path in
// the request, for the error.
func (c *SchemaCheck) Check(schema json.RawMessage, at string) error {
	if len(schema) == 0 || schema[0] != '{' {
		return Invalid(at, "%s must be a JSON Schema object", at)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return Invalid(at, "%s: %v", at, err)
	}
	c.once.Do(c.load)
	var fault error
	for _, meta := range c.metas {
		err := meta.Validate(value)
		if err == nil {
			return nil
		}
		if fault == nil {
			fault = err
		}
	}
	invalid := Invalid(at, "%s is not a valid JSON Schema: %s", at, cause(fault))
	invalid.Code = "invalid_json_schema"
	return invalid
}

// load compiles the schemas of JSON Schema itself, the newest first.
func (c *SchemaCheck) load() {
	for _, draft := range []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4} {
		c.metas = append(c.metas, jsonschema.NewCompiler().MustCompile(draft.String()))
	}
}

// cause returns the first innermost fault of a validation.
func cause(err error) string {
	fault, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // Validate returns no other
	if !ok {
		return err.Error()
	}
	for len(fault.Causes) > 0 {
		fault = fault.Causes[0]
	}
	return Clip(fault.Error(), MaxMessage/2)
}

package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CheckSchema returns an error for a JSON Schema that cannot be used: of a wrong form, or with a
// reference that leads nowhere. at is its path in the request.
func CheckSchema(raw json.RawMessage, at string) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return Invalid(at, "%s is not JSON: %v", at, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	c.UseRegexpEngine(func(string) (jsonschema.Regexp, error) { return anyPattern{}, nil }) // models know other dialects
	const address = "urn:schema"
	if err := c.AddResource(address, doc); err != nil {
		return Invalid(at, "%s is not a JSON Schema: %s", at, Clip(err.Error(), MaxMessage))
	}
	if _, err := c.Compile(address); err != nil {
		return Invalid(at, "%s is not a JSON Schema: %s", at, Clip(err.Error(), MaxMessage))
	}
	return nil
}

// anyPattern stands for a pattern.
type anyPattern struct{}

// MatchString and String implement [jsonschema.Regexp].
func (anyPattern) MatchString(string) bool { return true }
func (anyPattern) String() string          { return "" }

// nothing loads no schema: a request never makes the host fetch one.
type nothing struct{}

// Load fails.
func (nothing) Load(string) (any, error) {
	return nil, errors.New("schemas from elsewhere are not loaded")
}

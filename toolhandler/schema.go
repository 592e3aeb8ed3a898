package toolhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	mu     sync.Mutex // one value is checked at a time
	schema *jsonschema.Schema
	// left is how many steps the check of a value may still take.
	left int
}

const (
	// leastSteps and stepsPerByte bound the steps of a check: a short schema whose parts refer to each other
	// more than once could take a check any time and memory.
	leastSteps, stepsPerByte = 100_000, 4
)

// errTooManySteps reports a value that was not checked to the end.
var errTooManySteps = errors.New("the check takes too long: parts of the schema combine others too often")

// NewSchema compiles a JSON Schema of any draft. References to other documents are an error.
func NewSchema(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return compile(doc)
}

func compile(doc any) (*Schema, error) {
	if effort(doc) > maxEffort {
		return nil, errTooLarge
	}
	const name = "schema:///" // references to other files do not name this host's
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	s := &Schema{schema: schema}
	eachPart(reflect.ValueOf(schema), make(map[*jsonschema.Schema]bool), s.count)
	return s, nil
}

// eachPart calls visit once with each schema in a compiled one.
func eachPart(v reflect.Value, seen map[*jsonschema.Schema]bool, visit func(*jsonschema.Schema)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if part, ok := reflect.TypeAssert[*jsonschema.Schema](v); v.IsNil() || ok && seen[part] {
			return
		} else if ok {
			seen[part] = true
			defer visit(part)
		}
		eachPart(v.Elem(), seen, visit)
	case reflect.Slice:
		for i := range v.Len() {
			eachPart(v.Index(i), seen, visit)
		}
	case reflect.Map:
		for parts := v.MapRange(); parts.Next(); {
			eachPart(parts.Value(), seen, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachPart(v.Field(i), seen, visit)
			}
		}
	}
}

// count lets each use of a part be a step. The library has no bound of its own, but checks the format of a
// part before the parts inside it.
func (s *Schema) count(part *jsonschema.Schema) {
	format := part.Format
	counted := &jsonschema.Format{}
	if format != nil && format.Name != "regex" { // of which the library asks something else; see lenientRegexp
		counted.Name = format.Name
	}
	counted.Validate = func(v any) error {
		if s.left--; s.left < 0 {
			panic(errTooManySteps)
		}
		if counted.Name == "" {
			return nil
		}
		return format.Validate(v)
	}
	part.Format = counted
}

// validate checks the value of a text of so many bytes.
func (s *Schema) validate(value any, size int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = leastSteps + stepsPerByte*size
	defer func() {
		switch reason := recover(); reason {
		case nil:
		case errTooManySteps:
			err = errTooManySteps
		default:
			panic(reason)
		}
	}()
	return s.schema.Validate(value)
}

// Check returns what is wrong with a text that should be one JSON value of the schema: up to
// maxFaults faults, each with its path. Numbers keep their digits. The error quotes no value.
func (s *Schema) Check(text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := s.validate(value, len(text)); err != nil {
		return explain(err)
	}
	return nil
}

// noLoader rejects every reference outside the schema: a schema from elsewhere must not make the
// host read files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q: only references inside the schema are followed", url)
}

// lenientRegexp accepts a pattern that Go cannot compile (such as ECMA lookarounds): the schema's
// owner checks it anyway, and the rest of the schema still applies.
func lenientRegexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return anyText(pattern), nil
	}
	return re, nil
}

type anyText string

func (anyText) MatchString(string) bool { return true }
func (a anyText) String() string        { return string(a) }

// explain returns the leaves of a validation error, each with its path.
func explain(err error) error {
	ve, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	printer := message.NewPrinter(language.English)
	var faults []string
	if collect(ve, printer, &faults); len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// maxFaults bounds the faults in one error; a model can act on a few.
const maxFaults = 5

func collect(ve *jsonschema.ValidationError, printer *message.Printer, faults *[]string) {
	if len(*faults) >= maxFaults {
		return
	}
	if _, endless := ve.ErrorKind.(*kind.RefCycle); endless {
		return // it says nothing about the value
	}
	if len(ve.Causes) == 0 {
		place := "/" + strings.Join(ve.InstanceLocation, "/")
		text := ve.ErrorKind.LocalizedString(printer)
		if p, ok := ve.ErrorKind.(*kind.Pattern); ok { // the library quotes the value
			text = fmt.Sprintf("does not match pattern '%s'", p.Want)
		}
		*faults = append(*faults, fmt.Sprintf("at %s: %s", place, text))
		return
	}
	for _, cause := range ve.Causes {
		collect(cause, printer, faults)
	}
}

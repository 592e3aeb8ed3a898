package toolhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"molar/schemas"
)

// validators caches the compiled input schemas of tools. The key holds the schema itself, so a
// changed tool gets a new validator.
type validators struct {
	mu    sync.Mutex
	known map[string]*compiled
}

type compiled struct {
	once   sync.Once
	schema *jsonschema.Schema
	err    error
}

// maxValidators bounds the cache against a server that changes its tools endlessly.
const maxValidators = 4096

func newValidators() *validators {
	return &validators{known: make(map[string]*compiled)}
}

// check validates arguments against the tool's original schema, not the one lowered for a
// provider. Numbers keep their digits.
func (v *validators) check(tool schemas.Tool, args json.RawMessage) error {
	if len(bytes.TrimSpace(tool.InputSchema)) == 0 {
		return nil
	}
	c := v.get(tool)
	c.once.Do(func() { c.schema, c.err = compile(tool.InputSchema) })
	if c.err != nil {
		return fmt.Errorf("the schema itself cannot be used (%w); tell the owner of server %q", c.err, tool.Server)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return err
	}
	if err := c.schema.Validate(value); err != nil {
		return explain(err)
	}
	return nil
}

func (v *validators) get(tool schemas.Tool) *compiled {
	key := tool.Name + "\x00" + string(tool.InputSchema)
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.known[key]; ok {
		return c
	}
	if len(v.known) >= maxValidators {
		clear(v.known)
	}
	c := &compiled{}
	v.known[key] = c
	return c
}

func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "tool.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// noLoader rejects every reference outside the schema: a server's schema must not make the host
// read files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q: only references inside the schema are followed", url)
}

// lenientRegexp accepts a pattern that Go cannot compile (such as ECMA lookarounds): the server
// checks it anyway, and the rest of the schema still applies.
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
	collect(ve, printer, &faults)
	return errors.New(strings.Join(faults, "; "))
}

// maxFaults bounds the faults in one error; a model can act on a few.
const maxFaults = 5

func collect(ve *jsonschema.ValidationError, printer *message.Printer, faults *[]string) {
	if len(*faults) >= maxFaults {
		return
	}
	if len(ve.Causes) == 0 {
		place := "/" + strings.Join(ve.InstanceLocation, "/")
		*faults = append(*faults, fmt.Sprintf("at %s: %s", place, ve.ErrorKind.LocalizedString(printer)))
		return
	}
	for _, cause := range ve.Causes {
		collect(cause, printer, faults)
	}
}

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

// validators compiles the input schema of a tool at its first call and keeps it.
// The key holds the schema itself, so a server that changes a tool gets a new one.
type validators struct {
	mu    sync.Mutex
	known map[string]*compiled
}

type compiled struct {
	once   sync.Once
	schema *jsonschema.Schema
	err    error
}

// maxValidators bounds the cache against a server that changes its tools for ever.
const maxValidators = 4096

func newValidators() *validators {
	return &validators{known: make(map[string]*compiled)}
}

// check validates arguments against the tool's own schema, not against what was
// lowered for a provider. Numbers keep their digits.
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

// noLoader refuses every reference that leaves the schema: a server's schema must
// not make the host read files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %q: only references inside the schema are followed", url)
}

// lenientRegexp lets a pattern pass that Go cannot compile (ECMA lookarounds, say):
// the server checks it in any case, and the rest of the schema still counts.
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

// explain lists the leaves of a validation error, each with its place.
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

// maxFaults is how many faults are told at once; a model can act on a few.
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

package toolhandler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"molar/schemas"
)

// inputs keeps what is read of the input schemas of tools. The key is the schema itself, so a changed
// tool is read again.
type inputs struct {
	mu    sync.Mutex
	known map[string]*input
}

// An input is an input schema, as a validator and as what its arguments are for, each read when it is
// first needed.
type input struct {
	compile   func() (*Schema, error)
	arguments func() *argSchema
}

// maxInputs bounds what is kept against a server that changes its tools endlessly.
const maxInputs = 4096

func newInputs() *inputs { return &inputs{known: make(map[string]*input)} }

// check validates arguments against the tool's original schema, not the one lowered for a
// provider. Numbers keep their digits.
func (v *inputs) check(tool schemas.Tool, args json.RawMessage) error {
	if len(bytes.TrimSpace(tool.InputSchema)) == 0 {
		return nil
	}
	schema, err := v.get(tool).compile()
	if err != nil {
		return fmt.Errorf("the schema itself cannot be used (%w); tell the owner of server %q", err, tool.Server)
	}
	if err := schema.Check(args); !errors.Is(err, errTooManySteps) { // the server checks them too
		return err
	}
	return nil
}

// schemaOf returns what the arguments of a tool are for.
func (v *inputs) schemaOf(tool schemas.Tool) *argSchema { return v.get(tool).arguments() }

func (v *inputs) get(tool schemas.Tool) *input {
	v.mu.Lock()
	defer v.mu.Unlock()
	if in, ok := v.known[string(tool.InputSchema)]; ok {
		return in
	}
	if len(v.known) >= maxInputs {
		clear(v.known)
	}
	in := &input{
		compile: sync.OnceValues(func() (*Schema, error) {
			schema, _, err := lenientSchema(tool.InputSchema)
			return schema, err
		}),
		arguments: sync.OnceValue(func() *argSchema { return schemaOf(tool) }),
	}
	v.known[string(tool.InputSchema)] = in
	return in
}

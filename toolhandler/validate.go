package toolhandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

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
	schema *Schema
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
	c.once.Do(func() { c.schema, c.err = NewSchema(tool.InputSchema) })
	if c.err != nil {
		return fmt.Errorf("the schema itself cannot be used (%w); tell the owner of server %q", c.err, tool.Server)
	}
	return c.schema.Check(args)
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

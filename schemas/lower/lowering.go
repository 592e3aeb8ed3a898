package lower

import "encoding/json"

// A Lowering makes input schemas fit for a service.
type Lowering struct {
	Service string
	Lower   func(json.RawMessage) (Result, error)
	// MaxDescription is the longest description that the service takes of a tool, in characters; 0 is no
	// limit.
	MaxDescription int
}

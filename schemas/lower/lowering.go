package lower

import "encoding/json"

// A Lowering makes input schemas fit for a service.
type Lowering struct {
	Service string
	Lower   func(json.RawMessage) (Result, error)
}

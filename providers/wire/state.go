package wire

import (
	"encoding/json"

	"molar/schemas"
)

// Keep returns an endpoint's private state of a part. The state is of texts and JSON, which always
// encode.
func Keep(endpoint string, state any) *schemas.ProviderState {
	data, err := json.Marshal(state)
	if err != nil {
		return nil
	}
	return &schemas.ProviderState{Provider: endpoint, Data: data}
}

// Recall returns the state that an endpoint kept with a part; it is zero for another endpoint's.
func Recall[S any](endpoint string, p schemas.Part) (state S) {
	if p.State == nil || p.State.Provider != endpoint || json.Unmarshal(p.State.Data, &state) != nil {
		return *new(S)
	}
	return state
}

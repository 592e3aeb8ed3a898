package gemini

import (
	"encoding/base64"
	"strings"

	"molar/providers/wire"
	"molar/schemas"
)

// state is stored with a part: its thought signature, in standard base64, and the service's id of
// a call.
type state struct {
	Signature signature `json:"signature,omitempty"`
	ID        string    `json:"id,omitempty"`
}

// A signature is a thought signature. As JSON it is base64 in any form, since gateways encode
// signatures again, URL-safe or without padding. It is empty if it was not base64: a damaged one
// would fail the request.
type signature []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *signature) UnmarshalText(text []byte) error {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(string(text), "="))
	data, err := base64.RawStdEncoding.DecodeString(standard)
	if err != nil {
		data = nil
	}
	*s = data
	return nil
}

// newState returns the state of a part's signature and id, if any.
func newState(endpoint string, s signature, id string) *schemas.ProviderState {
	if len(s) == 0 && id == "" {
		return nil
	}
	return wire.Keep(endpoint, state{s, id})
}

package responses

import (
	"encoding/json"

	"molar/internal/sealed"
)

// A Sealer encrypts values that clients keep for the host. It is safe for concurrent use.
type Sealer struct{ box *sealed.Box }

// newSealer returns a sealer with a key of 32 bytes.
func newSealer(key []byte) (*Sealer, error) {
	box, err := sealed.Of(key)
	if err != nil {
		return nil, err
	}
	return &Sealer{box}, nil
}

// Seal returns v, as JSON, in a text that can only be opened for the same owner.
func (s *Sealer) Seal(owner string, v any) (string, error) {
	data, err := json.Marshal(v)
	return s.box.Seal(data, owner), err
}

// Open reads a sealed text into v.
func (s *Sealer) Open(owner, text string, v any) error {
	data, err := s.box.Open(text, owner)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

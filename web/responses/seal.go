package responses

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// keySize is the size of a sealer's key in bytes.
const keySize = 32

// errForeign is the error of opening a text that was not sealed with this key for this owner.
var errForeign = errors.New("not sealed by this host for this owner")

// A Sealer encrypts values that clients keep for the host. It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// newSealer returns a sealer with the key.
func newSealer(key []byte) (*Sealer, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("the key has %d bytes, want %d", len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Sealer{aead}, err
}

// Seal returns v, as JSON, in a text that can only be opened for the same owner.
func (s *Sealer) Seal(owner string, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, data, []byte(owner))), nil //nolint:gosec // the cipher makes the nonce itself
}

// Open reads a sealed text into v.
func (s *Sealer) Open(owner, text string, v any) error {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errForeign
	}
	data, err := s.aead.Open(nil, nil, sealed, []byte(owner))
	if err != nil {
		return errForeign
	}
	return json.Unmarshal(data, v)
}

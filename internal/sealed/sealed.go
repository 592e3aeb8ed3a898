// Package sealed encrypts, by AES-256-GCM, what the host keeps about people and what clients keep for the
// host. A sealed text is bound to its place: copied to another one, it does not open.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// ErrWrong means that a text was sealed with another key, for another place, or changed since.
var ErrWrong = errors.New("the sealed text cannot be opened: it has another key or another place, or was changed")

// A Box seals and opens texts.
type Box struct{ keys []cipher.AEAD }

// New returns a box. The first key seals, and every key opens, so that keys can be rotated: put the
// new one first, and remove the old one later. A key is 32 bytes in base64 or hex.
func New(keys ...string) (*Box, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key to seal with")
	}
	b := &Box{}
	for _, text := range keys {
		key, err := Key(text)
		if err != nil {
			return nil, err
		}
		one, err := Of(key)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, one.keys...)
	}
	return b, nil
}

// Of returns a box with one key of 32 bytes.
func Of(key []byte) (*Box, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("the key has %d bytes, want %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Box{[]cipher.AEAD{aead}}, err
}

// Key decodes a key. The error does not hold it.
func Key(text string) ([]byte, error) {
	if key, err := hex.DecodeString(text); err == nil && len(key) == KeySize {
		return key, nil
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := encoding.DecodeString(text); err == nil && len(key) == KeySize {
			return key, nil
		}
	}
	return nil, fmt.Errorf("want %d bytes in base64 or hex; make one with: openssl rand -base64 %d", KeySize, KeySize)
}

// Seal encrypts a text for a place, whose first part has no zero byte.
func (b *Box) Seal(text []byte, place ...string) string {
	return base64.RawURLEncoding.EncodeToString(b.keys[0].Seal(nil, nil, text, join(place))) //nolint:gosec // the cipher makes a random nonce itself
}

// Open decrypts a text that was sealed for the same place.
func (b *Box) Open(sealed string, place ...string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrWrong
	}
	for _, key := range b.keys {
		if text, err := key.Open(nil, nil, raw, join(place)); err == nil {
			return text, nil
		}
	}
	return nil, ErrWrong
}

// join encodes the parts of a place so that no two places are alike.
func join(parts []string) []byte {
	all := []byte(parts[0])
	for _, part := range parts[1:] {
		all = fmt.Appendf(all, "\x00%d:%s", len(part), part)
	}
	return all
}

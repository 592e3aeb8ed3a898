package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"
)

// attemptLife is how long somebody may take to sign in.
const attemptLife = 10 * time.Minute

// ErrRefused means that somebody was not signed in.
var ErrRefused = errors.New("not signed in")

// An attempt is what a browser keeps, sealed, while its person signs in.
type attempt struct {
	State, Nonce, Verifier string
	// Redirect is the address to which the provider sends the browser, and To the path after that.
	Redirect, To string
	Until        time.Time
}

func newAttempt(redirect, to string, now time.Time) attempt {
	return attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, To: to, Until: now.Add(attemptLife)}
}

// same compares in constant time; nothing is the same as the empty text.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// A sealer encrypts what a browser keeps, so that nobody can read or change it.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, fmt.Errorf("seal attempts to sign in: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

func (s sealer) seal(a attempt) (string, error) {
	text, err := json.Marshal(a)
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, nil)), err //nolint:gosec // it makes a random nonce itself
}

func (s sealer) open(text string, a *attempt) error {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		sealed, err = s.aead.Open(nil, nil, sealed, nil)
	}
	if err != nil {
		return errors.New("this browser has not begun to sign in, or keeps no cookies")
	}
	return json.Unmarshal(sealed, a)
}

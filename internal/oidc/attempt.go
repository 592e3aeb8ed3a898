package oidc

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"time"

	"golang.org/x/oauth2"
)

// attemptLife is how long somebody may take to sign in.
const attemptLife = 10 * time.Minute

// attemptPlace is where attempts are sealed for.
const attemptPlace = "attempt to sign in"

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

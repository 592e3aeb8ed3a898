package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// assertionKind is the client_assertion_type of a signed client assertion.
	assertionKind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// assertionLife is how long an assertion is valid.
	assertionLife = 5 * time.Minute
)

// assertion returns a signed client assertion (RFC 7523).
func assertion(key, client, audience string, now time.Time) (string, error) {
	private, err := parseKey(key)
	if err != nil {
		return "", err
	}
	name, err := algorithm(private)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: name, Key: private}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("sign the client assertion: %w", err)
	}
	return jwt.Signed(signer).Claims(map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	}).Serialize()
}

func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is not PEM")
	}
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
		func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
	} {
		if key, err := parse(block.Bytes); err == nil {
			if signer, ok := key.(crypto.Signer); ok {
				return signer, nil
			}
		}
	}
	return nil, errors.New("the private key cannot be read: want PKCS #8, EC or PKCS #1 in PEM, without a passphrase")
}

// algorithm returns a key's signature algorithm.
func algorithm(key crypto.Signer) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case ed25519.PrivateKey:
		return jose.EdDSA, nil
	case *rsa.PrivateKey:
		return jose.RS256, nil
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	}
	return "", errors.New("the private key is of a kind that cannot sign here: use EC, RSA or Ed25519")
}

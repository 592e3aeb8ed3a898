package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // the hashes of the signatures
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	// assertionKind is the client_assertion_type of a signed client assertion.
	assertionKind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// assertionLife is how long an assertion is valid.
	assertionLife = 5 * time.Minute
)

// assertion returns a signed client assertion (RFC 7523).
func assertion(key, client, audience string, now time.Time) (string, error) {
	signer, err := parseKey(key)
	if err != nil {
		return "", err
	}
	name, hash, err := algorithm(signer)
	if err != nil {
		return "", err
	}
	head, err := encode(map[string]string{"alg": name, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := encode(map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	text := head + "." + claims
	signature, err := sign(signer, hash, []byte(text))
	if err != nil {
		return "", fmt.Errorf("sign the client assertion: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func encode(v any) (string, error) {
	raw, err := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(raw), err
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

// algorithm returns a key's signature algorithm and hash (RFC 7518, RFC 8037).
func algorithm(key crypto.Signer) (name string, hash crypto.Hash, err error) {
	switch k := key.(type) {
	case ed25519.PrivateKey:
		return "EdDSA", 0, nil
	case *rsa.PrivateKey:
		return "RS256", crypto.SHA256, nil
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return "ES256", crypto.SHA256, nil
		case 384:
			return "ES384", crypto.SHA384, nil
		case 521:
			return "ES512", crypto.SHA512, nil
		}
	}
	return "", 0, errors.New("the private key is of a kind that cannot sign here: use EC, RSA or Ed25519")
}

func sign(key crypto.Signer, hash crypto.Hash, text []byte) ([]byte, error) {
	if hash == 0 {
		return key.Sign(rand.Reader, text, hash)
	}
	h := hash.New()
	h.Write(text)
	k, elliptic := key.(*ecdsa.PrivateKey)
	if !elliptic {
		return key.Sign(rand.Reader, h.Sum(nil), hash)
	}
	r, s, err := ecdsa.Sign(rand.Reader, k, h.Sum(nil))
	if err != nil {
		return nil, err
	}
	size := (k.Curve.Params().BitSize + 7) / 8
	both := make([]byte, 2*size)
	r.FillBytes(both[:size])
	s.FillBytes(both[size:])
	return both, nil
}

package oauthserver

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
)

// providerPath is the path of an identity provider.
const providerPath = "/idp"

// Person is the ID token of the only person that the identity provider knows.
const Person = "canary-person"

// ProviderURL returns the URL of the identity provider.
func (s *Server) ProviderURL() string { return s.URL + providerPath }

// AddKey registers a client that authenticates with a signature, with a key on P-256.
func (s *Server) AddKey(id string, key *ecdsa.PublicKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = client{key: key}
}

// ScopesOf returns the scopes of a token.
func (s *Server) ScopesOf(token string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access[token]
}

// isClient checks the client of a token request. s.mu is held.
func (s *Server) isClient(id, secret string, r *http.Request) bool {
	c, known := s.clients[id]
	if !known || c.key == nil {
		return known && c.secret == secret
	}
	head, rest, _ := strings.Cut(r.PostFormValue("client_assertion"), ".")
	body, signature, _ := strings.Cut(rest, ".")
	var header struct {
		Algorithm string `json:"alg"`
	}
	var claims struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		ID       string `json:"jti"`
		Expires  int64  `json:"exp"`
	}
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(raw) != 64 || !decode(head, &header) || !decode(body, &claims) {
		return false
	}
	sum := sha256.Sum256([]byte(head + "." + body))
	return header.Algorithm == "ES256" && claims.Issuer == id && claims.Subject == id && claims.Audience == s.IssuerURL() &&
		claims.ID != "" && claims.Expires > s.now().Unix() &&
		r.PostFormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
		ecdsa.Verify(c.key, sum[:], new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:]))
}

func decode(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// giveAlone answers a client without a person: a client with its secret, which was checked, or,
// on behalf of a person, with an assertion of the identity provider. s.mu is held.
func (s *Server) giveAlone(w http.ResponseWriter, r *http.Request, is Behaviour) {
	if assertion := r.PostFormValue("assertion"); r.PostFormValue("grant_type") != "client_credentials" && !s.assertions[assertion] {
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "not the provider's: " + assertion})
		return
	}
	s.counts.Alone++
	access := s.name("access")
	s.access[access] = strings.Fields(r.PostFormValue("scope"))
	answer := map[string]any{"access_token": access, "token_type": "bearer"}
	if is.Life > 0 {
		answer["expires_in"] = int(is.Life.Seconds())
		s.ends[access] = s.now().Add(is.Life)
	}
	write(w, http.StatusOK, answer)
}

// vouch is the token endpoint of the identity provider.
func (s *Server) vouch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": Person,
		"subject_token_type":   "urn:ietf:params:oauth:token-type:id_token",
		"requested_token_type": "urn:ietf:params:oauth:token-type:id-jag", "audience": s.IssuerURL(), "resource": s.MCP(),
	}
	for name, value := range want {
		if r.PostFormValue(name) != value {
			s.fault(w, "the %s is wrong", name)
			return
		}
	}
	assertion := s.name("assertion")
	s.assertions[assertion] = true
	write(w, http.StatusOK, map[string]any{
		"access_token": assertion, "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A",
	})
}

package oauth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients/oauth"
)

// keyPair returns a key in PEM and its public key.
func keyPair(t *testing.T) (string, *ecdsa.PublicKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), &key.PublicKey
}

func alone(t *testing.T, s *oauthserver.Server, c *oauth.Client, settings oauth.Settings, log *bytes.Buffer) *oauth.Source {
	t.Helper()
	server := at(s)
	server.Settings = settings
	src := oauth.NewSource(server, &memory{}, c, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(src.Close)
	return src
}

// A host without a user logs in as itself, or with the ID token of a person from an identity
// provider, and logs in again when its token expires or is refused.
func TestAlone(t *testing.T) {
	key, public := keyPair(t)
	file := filepath.Join(t.TempDir(), "id-token")
	if err := os.WriteFile(file, []byte(oauthserver.Person+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string]func(*oauthserver.Server) oauth.Settings{
		"secret": func(s *oauthserver.Server) oauth.Settings {
			s.AddClient("robot", "canary-secret")
			return oauth.Settings{ClientID: "robot", ClientSecret: "canary-secret", Grant: oauth.GrantClient}
		},
		"private key": func(s *oauthserver.Server) oauth.Settings {
			s.AddKey("robot", public)
			return oauth.Settings{ClientID: "robot", PrivateKey: key, Grant: oauth.GrantClient}
		},
		"identity provider": func(s *oauthserver.Server) oauth.Settings {
			s.AddClient("robot", "canary-secret")
			return oauth.Settings{ClientID: "robot", ClientSecret: "canary-secret", Identity: oauth.Identity{
				Issuer: s.ProviderURL(), ClientID: "robot-there", TokenFile: file,
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := guarded(t)
			s.Behave(func(b *oauthserver.Behaviour) {
				b.Life = time.Hour
				b.Metadata = map[string]any{"authorization_endpoint": nil, "code_challenge_methods_supported": nil}
			})
			at := newClock()
			var log bytes.Buffer
			src := alone(t, s, client(t, at.now), settings(s), &log)
			first, err := src.Token(t.Context())
			if err != nil || first == "" {
				t.Fatalf("%q, %v", first, err)
			}
			if again, err := src.Token(t.Context()); err != nil || again != first {
				t.Errorf("asked again: %v", err)
			}
			at.pass(2 * time.Hour)
			second, err := src.Token(t.Context())
			if err != nil || second == first {
				t.Errorf("after its end: %v", err)
			}
			third, err := src.Refused(t.Context(), second)
			if err != nil || third == second || third == "" {
				t.Errorf("refused: %v", err)
			}
			if n := s.Counts().Alone; n != 3 {
				t.Errorf("%d tokens were given", n)
			}
			if faults := s.Faults(); len(faults) > 0 {
				t.Error(faults)
			}
			if strings.Contains(log.String(), "canary") {
				t.Errorf("the log holds a secret: %s", log.String())
			}
		})
	}
}

func TestAlone_Refused(t *testing.T) {
	key, _ := keyPair(t)
	_, others := keyPair(t)
	for name, tt := range map[string]struct {
		settings oauth.Settings
		want     string
	}{
		"no client":      {oauth.Settings{Grant: oauth.GrantClient}, "mcpServers.s.oauth.client_id"},
		"another secret": {oauth.Settings{Grant: oauth.GrantClient, ClientID: "robot", ClientSecret: "canary-wrong"}, "invalid_client"},
		"another key":    {oauth.Settings{Grant: oauth.GrantClient, ClientID: "signer", PrivateKey: key}, "invalid_client"},
		"no key":         {oauth.Settings{Grant: oauth.GrantClient, ClientID: "signer", PrivateKey: "canary-key"}, "mcpServers.s.oauth.private_key: the private key is not PEM"},
		"a stranger": {oauth.Settings{ClientID: "robot", ClientSecret: "canary-secret", Identity: oauth.Identity{
			Issuer: "PROVIDER", Token: "canary-stranger",
		}}, "ask the identity provider"},
		"no token": {oauth.Settings{ClientID: "robot", ClientSecret: "canary-secret", Identity: oauth.Identity{Issuer: "PROVIDER"}}, "has no token"},
	} {
		t.Run(name, func(t *testing.T) {
			s := guarded(t)
			s.AddClient("robot", "canary-secret")
			s.AddKey("signer", others)
			if tt.settings.Identity.Issuer != "" {
				tt.settings.Identity.Issuer = s.ProviderURL()
			}
			var log bytes.Buffer
			_, err := alone(t, s, client(t, nil), tt.settings, &log).Token(t.Context())
			wantFault(t, err, tt.want)
		})
	}
}

// A scope that a call lacked is requested with the next token.
func TestAlone_MissingScope(t *testing.T) {
	s := guarded(t)
	s.AddClient("robot", "canary-secret")
	var log bytes.Buffer
	src := alone(t, s, client(t, nil), oauth.Settings{Grant: oauth.GrantClient, ClientID: "robot", ClientSecret: "canary-secret"}, &log)
	first, err := src.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Lacking(t.Context(), []string{"write"}); err != nil {
		t.Fatal(err)
	}
	second, err := src.Token(t.Context())
	if err != nil || second == first {
		t.Fatalf("no other token: %v", err)
	}
	if scopes := s.ScopesOf(second); strings.Join(scopes, " ") != "read write" {
		t.Errorf("scopes %q", scopes)
	}
}

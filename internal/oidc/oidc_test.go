package oidc_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	"molar/internal/oidc"
)

// An issuer is an identity provider that gives every code that it was told of one token, once.
type issuer struct {
	*httptest.Server
	key, newKey *rsa.PrivateKey
	// codes are what a code was given for: the challenge and the claims of the token.
	codes map[string]given
	away  atomic.Bool
	// moved is set when the keys are at another address, with another one among them.
	moved atomic.Bool
	info  map[string]any
}

type given struct {
	challenge string
	claims    map[string]any
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	newKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{key: key, newKey: newKey, codes: map[string]given{}}
	fresh := http.StripPrefix("/new", &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: newKey.Public(), KeyID: "k2", Algorithm: "RS256"}}})
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k1", Algorithm: "RS256"}}}
	is.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch {
		case is.away.Load():
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/.well-known/openid-configuration":
			answer = map[string]any{
				"issuer": is.URL, "authorization_endpoint": is.URL + "/auth", "token_endpoint": is.URL + "/token", "jwks_uri": is.URL + map[bool]string{false: "/keys", true: "/new/keys"}[is.moved.Load()],
				"userinfo_endpoint": is.URL + "/me", "id_token_signing_alg_values_supported": []string{"RS256"},
			}
		case r.URL.Path == "/token":
			sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
			got, ok := is.codes[r.FormValue("code")]
			delete(is.codes, r.FormValue("code"))
			if !ok || got.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
				w.WriteHeader(http.StatusBadRequest)
				answer = map[string]any{"error": "invalid_grant"}
				break
			}
			answer = map[string]any{"access_token": "opaque", "token_type": "Bearer", "id_token": is.token(got.claims)}
		case r.URL.Path == "/me":
			answer = is.info
		case strings.HasPrefix(r.URL.Path, "/new/"):
			fresh.ServeHTTP(w, r)
			return
		default:
			keys.ServeHTTP(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	keys.SetIssuer(is.URL)
	t.Cleanup(is.Close)
	return is
}

// token signs a token for ann of this client, with these claims changed; nil removes one.
func (is *issuer) token(change map[string]any) string {
	c := map[string]any{"iss": is.URL, "sub": "ann", "aud": "molar", "name": "Ann", "groups": []string{"staff"}, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	text, _ := json.Marshal(c)
	if is.moved.Load() {
		return oidctest.SignIDToken(is.newKey, "k2", "RS256", string(text))
	}
	return oidctest.SignIDToken(is.key, "k1", "RS256", string(text))
}

func (is *issuer) provider(t *testing.T, now func() time.Time) *oidc.Provider {
	t.Helper()
	p, err := oidc.New(oidc.Config{
		Issuer: is.URL, ClientID: "molar", Groups: "groups", Name: "name", Scopes: []string{"openid"}, Audience: "api", Key: make([]byte, 32), Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every answer but the right one is refused.
func TestProvider_Finish(t *testing.T) {
	is := newIssuer(t)
	late := false
	p := is.provider(t, func() time.Time {
		if late {
			return time.Now().Add(11 * time.Minute)
		}
		return time.Now()
	})
	for _, tt := range []struct {
		name   string
		claims map[string]any
		answer func(url.Values)
		before func(*given)
		kept   string
		late   bool
		fault  string
	}{
		{name: "the right answer"},
		{name: "its issuer", answer: func(v url.Values) { v.Set("iss", is.URL) }},
		{name: "another state", answer: func(v url.Values) { v.Set("state", "x") }, fault: "another attempt"},
		{name: "no state", answer: func(v url.Values) { v.Del("state") }, fault: "another attempt"},
		{name: "another issuer", answer: func(v url.Values) { v.Set("iss", "https://evil.example") }, fault: "another provider"},
		{name: "an error", answer: func(v url.Values) { v.Set("error", "access_denied") }, fault: "access_denied"},
		{name: "no code", answer: func(v url.Values) { v.Del("code") }, fault: "no code"},
		{name: "an unknown code", answer: func(v url.Values) { v.Set("code", "x") }, fault: "refused the code"},
		{name: "another browser's challenge", before: func(g *given) { g.challenge = "x" }, fault: "refused the code"},
		{name: "no cookie", kept: "x", fault: "keeps no cookies"},
		{name: "too late", late: true, fault: "longer than"},
		{name: "another nonce", claims: map[string]any{"nonce": "x"}, fault: "another attempt"},
		{name: "no nonce", claims: map[string]any{"nonce": nil}, fault: "another attempt"},
		{name: "another client", claims: map[string]any{"aud": "other"}, fault: "another client"},
		{name: "an access token's audience", claims: map[string]any{"aud": "api"}, fault: "another client"},
		{name: "another party", claims: map[string]any{"azp": "other"}, fault: "another client"},
		{name: "a token that is over", claims: map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, fault: "not valid"},
		{name: "another token's issuer", claims: map[string]any{"iss": "https://evil.example"}, fault: "not valid"},
		{name: "nobody", claims: map[string]any{"sub": ""}, fault: "names nobody"},
		{name: "a subject of two lines", claims: map[string]any{"sub": "ann\nbob"}, fault: "names nobody"},
		{name: "a subject with a zero byte", claims: map[string]any{"sub": "ann\x00"}, fault: "names nobody"},
		{name: "a group of two lines is none", claims: map[string]any{"groups": []string{"a\nb", "staff"}}},
		{name: "a name of two lines counts as none", claims: map[string]any{"name": "Eve\nAnn", "preferred_username": "Ann"}},
		{name: "too many groups", claims: map[string]any{"groups": nil, "_claim_names": map[string]string{"groups": "src1"}, "_claim_sources": map[string]any{"src1": map[string]string{"endpoint": "https://graph.example"}}}, fault: "identity.oidc.groups"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			late = false
			address, kept, err := p.Begin(t.Context(), "https://molar.example/login/callback", "/tools?x=1")
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			asked := u.Query()
			if asked.Get("code_challenge_method") != "S256" || asked.Get("redirect_uri") != "https://molar.example/login/callback" {
				t.Fatalf("asked %v", asked)
			}
			g := given{asked.Get("code_challenge"), map[string]any{"nonce": asked.Get("nonce")}}
			maps.Copy(g.claims, tt.claims)
			if tt.before != nil {
				tt.before(&g)
			}
			is.codes["c1"] = g
			answer := url.Values{"code": {"c1"}, "state": {asked.Get("state")}}
			if tt.answer != nil {
				tt.answer(answer)
			}
			if tt.kept != "" {
				kept = tt.kept
			}
			late = tt.late
			who, to, err := p.Finish(t.Context(), kept, answer)
			if tt.fault != "" {
				if !errors.Is(err, oidc.ErrRefused) || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, %v, want a refusal with %q", who, err, tt.fault)
				}
				return
			}
			if err != nil || to != "/tools?x=1" || who.Owner() != "oidc:"+is.URL+"#ann" || who.Name != "Ann" || !cmp.Equal(who.Groups, []string{"staff"}) {
				t.Fatalf("got %+v, to %q, %v", who, to, err)
			}
			if _, _, err := p.Finish(t.Context(), kept, answer); !errors.Is(err, oidc.ErrRefused) {
				t.Errorf("the same answer once more: %v", err)
			}
		})
	}
}

// What the ID token leaves out comes from the provider's page about the person, if it is about them.
func TestProvider_UserInfo(t *testing.T) {
	is := newIssuer(t)
	p := is.provider(t, nil)
	for _, tt := range []struct {
		info map[string]any
		want []string
	}{
		{map[string]any{"sub": "ann", "groups": []string{"it"}}, []string{"it"}},
		{map[string]any{"sub": "eve", "groups": []string{"it"}}, nil},
	} {
		is.info = tt.info
		address, kept, err := p.Begin(t.Context(), "http://x/login/callback", "/")
		if err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(address)
		asked := u.Query()
		is.codes["c1"] = given{asked.Get("code_challenge"), map[string]any{"nonce": asked.Get("nonce"), "groups": nil}}
		who, _, err := p.Finish(t.Context(), kept, url.Values{"code": {"c1"}, "state": {asked.Get("state")}})
		if err != nil || !cmp.Equal(who.Groups, tt.want) {
			t.Errorf("with %v: groups %v, %v", tt.info, who.Groups, err)
		}
	}
}

func TestProvider_Bearer(t *testing.T) {
	is := newIssuer(t)
	now := time.Now()
	p := is.provider(t, func() time.Time { return now })
	stranger := newIssuer(t)
	for name, tt := range map[string]struct {
		token string
		ok    bool
	}{
		"an ID token":       {is.token(nil), true},
		"an access token":   {is.token(map[string]any{"aud": []string{"api", "x"}}), true},
		"for others":        {is.token(map[string]any{"aud": "x"}), false},
		"over":              {is.token(map[string]any{"exp": now.Add(-time.Minute).Unix()}), false},
		"another issuer":    {stranger.token(nil), false},
		"signed by another": {stranger.token(map[string]any{"iss": is.URL}), false},
		"an event":          {is.token(map[string]any{"events": map[string]any{"logout": map[string]any{}}}), false},
		"without signature": {strings.Join(strings.Split(is.token(nil), ".")[:2], ".") + ".", false},
		"changed":           {is.token(nil) + "x", false},
		"no token":          {"abc", false},
	} {
		who, fresh, err := p.Bearer(t.Context(), tt.token)
		if (err == nil) != tt.ok || tt.ok && (!fresh || who.Subject != "ann") {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	token := is.token(map[string]any{"exp": now.Add(time.Hour).Unix(), "jti": "1"})
	for i, wait := range []time.Duration{0, 30 * time.Second, time.Hour} {
		now = now.Add(wait)
		_, fresh, err := p.Bearer(t.Context(), token)
		if fresh != (i == 0) || (err == nil) != (i < 2) {
			t.Errorf("use %d: fresh %v, %v", i, fresh, err)
		}
	}
}

// A logout token ends the sessions of whom it names, once, and again if that failed.
func TestProvider_LoggedOut(t *testing.T) {
	is := newIssuer(t)
	p := is.provider(t, nil)
	event := map[string]any{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}, "jti": "1"}
	for i, tt := range []struct {
		name    string
		claims  map[string]any
		subject string
		session string
		fault   string
	}{
		{name: "a person", subject: "ann"},
		{name: "a session of theirs", claims: map[string]any{"sid": "s1"}, subject: "ann", session: "s1"},
		{name: "a session alone", claims: map[string]any{"sid": "s1", "sub": nil}, session: "s1"},
		{name: "nobody", claims: map[string]any{"sub": nil}, fault: "'sub' claim, a 'sid' claim"},
		{name: "another client", claims: map[string]any{"aud": "other"}, fault: "another client"},
		{name: "an audience of tokens", claims: map[string]any{"aud": "api"}, fault: "another client"},
		{name: "another issuer", claims: map[string]any{"iss": "https://evil.example"}, fault: "different provider"},
		{name: "an ID token", claims: map[string]any{"events": nil}, fault: "event"},
		{name: "another event", claims: map[string]any{"events": map[string]any{"x": map[string]any{}}}, fault: "event"},
		{name: "a nonce", claims: map[string]any{"nonce": "n"}, fault: "nonce"},
		{name: "without an id", claims: map[string]any{"jti": nil}, fault: "jti"},
		{name: "over", claims: map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, fault: "expired"},
		{name: "an old one", claims: map[string]any{"iat": time.Now().Add(-6 * time.Minute).Unix()}, fault: "last 5m0s"},
		{name: "one of tomorrow", claims: map[string]any{"iat": time.Now().Add(6 * time.Minute).Unix()}, fault: "last 5m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claims := maps.Clone(event)
			claims["jti"] = string(rune('a' + i))
			maps.Copy(claims, tt.claims)
			token := is.token(claims)
			var ended []oidc.Person
			end := func(who oidc.Person) error { ended = append(ended, who); return nil }
			if tt.fault != "" {
				if err := p.LoggedOut(t.Context(), token, end); !errors.Is(err, oidc.ErrRefused) || !strings.Contains(err.Error(), tt.fault) || len(ended) > 0 {
					t.Errorf("ended %v, %v, want a refusal with %q", ended, err, tt.fault)
				}
				return
			}
			failed := errors.New("the database is away")
			if err := p.LoggedOut(t.Context(), token, func(oidc.Person) error { return failed }); !errors.Is(err, failed) {
				t.Errorf("the first try: %v", err)
			}
			if err := p.LoggedOut(t.Context(), token, end); err != nil || len(ended) != 1 || ended[0].Issuer != is.URL || ended[0].Subject != tt.subject || ended[0].Session != tt.session {
				t.Errorf("ended %+v, %v", ended, err)
			}
			if err := p.LoggedOut(t.Context(), token, end); !errors.Is(err, oidc.ErrRefused) || len(ended) != 1 {
				t.Errorf("the same token again: %v", err)
			}
		})
	}
	if err := p.LoggedOut(t.Context(), is.token(event)+"x", func(oidc.Person) error { return nil }); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("a changed token: %v", err)
	}
}

// A provider that moves its keys is followed as soon as it is asked about itself again.
func TestProvider_MovedKeys(t *testing.T) {
	is := newIssuer(t)
	now := time.Now()
	p := is.provider(t, func() time.Time { return now })
	for _, moved := range []bool{false, true} {
		is.moved.Store(moved)
		now = now.Add(time.Minute)
		if _, _, err := p.Begin(t.Context(), "http://x/login/callback", "/"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Bearer(t.Context(), is.token(nil)); err != nil {
			t.Errorf("moved %v: %v", moved, err)
		}
	}
}

// A provider that is away is no fault of the start, and is found when it comes back.
func TestProvider_Away(t *testing.T) {
	is := newIssuer(t)
	is.away.Store(true)
	p := is.provider(t, nil)
	if _, _, err := p.Begin(t.Context(), "http://x/login/callback", "/"); !errors.Is(err, oidc.ErrAway) || p.Fault() == nil {
		t.Errorf("begin: %v, fault %v", err, p.Fault())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Watch(ctx); close(ended) }()
	is.away.Store(false)
	if _, _, err := p.Begin(t.Context(), "http://x/login/callback", "/"); err != nil || p.Fault() != nil {
		t.Errorf("back again: %v, fault %v", err, p.Fault())
	}
	cancel()
	<-ended
}

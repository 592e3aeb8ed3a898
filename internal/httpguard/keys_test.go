package httpguard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/httpguard"
)

func TestKeyText(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		text := httpguard.NewKeyText()
		if seen[text] || len(text) != 52 || isSaidToBeCut(t, text) {
			t.Fatalf("key %q", text)
		}
		seen[text] = true
		wrong := []byte(text)
		wrong[10] ^= 1
		for _, bad := range []string{string(wrong), text[:51], text + "0", "mk_"} {
			if !isSaidToBeCut(t, bad) {
				t.Errorf("%q counts as a whole key", bad)
			}
		}
	}
	hash := httpguard.HashOf("x")
	if got, err := httpguard.ParseHash(hash.String()); err != nil || got != hash {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "sha256:", hash.String()[7:], hash.String()[:70], hash.String() + "0", "sha256:" + strings.Repeat("x", 64)} {
		if _, err := httpguard.ParseHash(bad); err == nil {
			t.Errorf("%q was read as a hash", bad)
		}
	}
}

// isSaidToBeCut reports whether a key that nobody made is refused as one that was cut or mistyped.
func isSaidToBeCut(t *testing.T, text string) bool {
	t.Helper()
	now := time.Now()
	r := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	_, refusal := ring(&now).Identify(r)
	if refusal == nil || refusal.Status != http.StatusUnauthorized {
		t.Fatalf("key %q: refusal %+v", text, refusal)
	}
	return strings.Contains(refusal.Message, "cut or mistyped")
}

// A ring of one key of each kind, and a clock that stands still.
func ring(now *time.Time) *httpguard.Keyring {
	k := httpguard.NewKeyring(func() time.Time { return *now })
	k.Set([]httpguard.Key{
		{ID: "k1", Owner: "k1", Name: "ann", Hash: httpguard.HashOf("text-1"), Scopes: []string{"chat"}, Expires: now.Add(time.Hour)},
		{ID: "s1", Owner: "operator", Hash: httpguard.HashOf("text-2"), Scopes: []string{"chat", "admin"}, Session: true, Idle: 2 * time.Hour, LastUsed: *now},
	})
	return k
}

func TestKeyring_Identify(t *testing.T) {
	now := time.Unix(1e9, 0)
	k := ring(&now)
	tests := []struct {
		header, value, key string
	}{
		{"Authorization", "Bearer text-1", "k1"},
		{"Authorization", "bearer text-1", "k1"},
		{"X-Api-Key", "text-1", "k1"},
		{"Cookie", "molar_session=text-2", "s1"},
		{"Cookie", "__Host-molar_session=text-2", "s1"},
		{"Authorization", "Bearer text-2", ""}, // a session is no header
		{"Cookie", "molar_session=text-1", ""}, // a key is no cookie
		{"Authorization", "Basic text-1", ""},
		{"Authorization", "Bearer", ""},
		{"Authorization", "Bearer text-12", ""},
		{"X-Api-Key", "", ""},
		{"X-Other", "x", ""},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(tt.header, tt.value)
		who, refusal := k.Identify(r)
		if who.Key != tt.key || (refusal == nil) != (tt.key != "") {
			t.Errorf("%s: %s: %+v, %+v", tt.header, tt.value, who, refusal)
		}
		if refusal != nil && (refusal.Status != 401 || refusal.Code != "invalid_api_key" || strings.Contains(refusal.Message, "text-")) {
			t.Errorf("%s: %s: %+v", tt.header, tt.value, refusal)
		}
	}
}

func TestKeyring_EndsKeys(t *testing.T) {
	now := time.Unix(1e9, 0)
	k := ring(&now)
	try := func(header, value string) *httpguard.Refusal {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(header, value)
		_, refusal := k.Identify(r)
		return refusal
	}
	now = now.Add(time.Hour)
	try("Cookie", "molar_session=text-2")
	unknown, expired := try("X-Api-Key", "nonsense"), try("X-Api-Key", "text-1")
	if expired == nil || cmp.Diff(unknown, expired) != "" {
		t.Errorf("an expired key: %+v; an unknown one: %+v", expired, unknown)
	}
	for i, idle := range []time.Duration{time.Hour, 2 * time.Hour, 2*time.Hour + time.Second} {
		now = now.Add(idle)
		if ended := try("Cookie", "molar_session=text-2") != nil; ended != (i == 2) {
			t.Errorf("a session, unused for %v: ended %v", idle, ended)
		}
	}
}

func TestKeyring_NeverOpensAgain(t *testing.T) {
	k := httpguard.NewKeyring(nil)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if who, refusal := k.Identify(r); refusal != nil || !who.May("admin") || k.On() {
		t.Errorf("without keys: %+v %+v", who, refusal)
	}
	k.Set([]httpguard.Key{{ID: "s", Session: true}})
	if k.On() {
		t.Error("a session alone closes the port")
	}
	k.Set([]httpguard.Key{{ID: "k"}})
	k.Set(nil)
	if _, refusal := k.Identify(r); refusal == nil {
		t.Error("the port is open since the last key was revoked")
	}
}

// Without keys loopback is the operator, but not with a header in which a proxy, whichever it
// is, tells whose request it brings.
func TestKeyring_ThroughAProxy(t *testing.T) {
	k := httpguard.NewKeyring(nil)
	for header, through := range map[string]bool{
		"X-Forwarded-For: 203.0.113.7, 10.0.0.1": true, "X-Forwarded-Host: chat.example": true, "X-Forwarded-For:": true, "X-Forwarded: for=unknown": true,
		"Forwarded: for=_hidden": true, "Via: 1.1 squid": true, "X-Real-IP: unknown": true, "CDN-Loop: example": true,
		"CF-Connecting-IP: 203.0.113.7": true, "True-Client-IP: 2001:db8::1": true, "X-Azure-ClientIP: 203.0.113.7": true, "X-Azure-SocketIP: 203.0.113.7:4711": true,
		"X-Envoy-External-Address: 203.0.113.7": true, "Fly-Client-IP: [2001:db8::1]:80": true, "Fastly-Client-IP: 203.0.113.7, 203.0.113.8": true,
		"User-Agent: curl/8.5.0": false, "Accept: text/html": false, "Origin: http://127.0.0.1:8000": false, "X-Request-Id: 17": false,
		"X-Client-Version: 1.2.3.4": false, "X-Stainless-Retry-Count: 0": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		name, value, _ := strings.Cut(header, ":")
		r.Header.Set(name, strings.TrimSpace(value))
		if _, refusal := k.Identify(r); (refusal != nil) != through || refusal != nil && refusal.Code != "proxy_without_key" {
			t.Errorf("%s: %+v", header, refusal)
		}
	}
}

func TestKeyring_EndsStreams(t *testing.T) {
	now := time.Unix(1e9, 0)
	k := ring(&now)
	ctx, cancel := k.Bind(t.Context(), httpguard.Principal{Credential: "k1"})
	other, cancelOther := k.Bind(t.Context(), httpguard.Principal{Credential: "s1"})
	defer cancel()
	defer cancelOther()
	k.Set([]httpguard.Key{{ID: "s1", Session: true}})
	if ctx.Err() == nil || other.Err() != nil {
		t.Errorf("the stream of the revoked key: %v; of the other: %v", ctx.Err(), other.Err())
	}
}

func TestPrincipal_Need(t *testing.T) {
	who := httpguard.Principal{Key: "k", Scopes: []string{"chat"}}
	if who.Need("chat") != nil || who.Need("admin", "chat") != nil {
		t.Error("a scope that the key has is refused")
	}
	refusal := who.Need("admin")
	if refusal == nil || refusal.Status != 403 || refusal.Code != "insufficient_scope" || !strings.Contains(refusal.Message, "--scope admin") {
		t.Errorf("%+v", refusal)
	}
}

func TestLimiter(t *testing.T) {
	now := time.Unix(1e9, 0)
	l, err := httpguard.NewLimiter(20, 20, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if wait := l.Take("a", 1); wait != 0 {
			t.Fatalf("call %d waits %v", i, wait)
		}
	}
	if wait := l.Take("a", 1); wait != 50*time.Millisecond {
		t.Errorf("the 21st call waits %v", wait)
	}
	if wait := l.Take("b", 1); wait != 0 {
		t.Errorf("another client waits %v", wait)
	}
	now = now.Add(time.Second)
	if wait := l.Take("a", 100); wait != 0 { // a batch passes, and is paid for later
		t.Errorf("a batch waits %v", wait)
	}
	if wait := l.Take("a", 1); wait < 4*time.Second || wait > 5*time.Second {
		t.Errorf("after the batch the wait is %v", wait)
	}
	var none *httpguard.Limiter
	if none.Take("a", 1000) != 0 || none.Refuse("a", "x") != nil {
		t.Error("no limiter limits")
	}
	for _, bad := range [][2]int{{0, 1}, {1, 0}, {-1, 1}} {
		if _, err := httpguard.NewLimiter(float64(bad[0]), bad[1], nil); err == nil {
			t.Errorf("NewLimiter(%v) was made", bad)
		}
	}
}

// However many addresses come, the memory for them is bounded, and one that keeps
// calling is not forgotten for others that do not.
func TestLimiter_ForgetsTheIdle(t *testing.T) {
	now := time.Unix(1e9, 0)
	l, err := httpguard.NewLimiter(1, 2, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	l.Take("busy", 1000)
	for i := range 10_000 {
		now = now.Add(time.Millisecond)
		l.Take(fmt.Sprint(i), 2)
		if i%1000 == 0 {
			l.Take("busy", 1)
		}
	}
	if n := httpguard.Known(l); n > 4096 {
		t.Errorf("%d clients are remembered", n)
	}
	if l.Take("busy", 1) == 0 {
		t.Error("a client that keeps calling was forgotten")
	}
}

func TestAddresses(t *testing.T) {
	a, err := httpguard.NewAddresses([]string{"10.0.0.0/8", "::1", "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		peer, forwarded, want string
	}{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"}, // not from a trusted proxy
		{"127.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"[::1]:5", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"},
		{"127.0.0.1:5", "1.2.3.4, nonsense", "127.0.0.1"},
		{"127.0.0.1:5", "10.1.1.1", "10.1.1.1"},
		{"127.0.0.1:5", "", "127.0.0.1"},
		{"[::ffff:10.0.0.1]:5", "198.51.100.7", "198.51.100.7"},
		{"nowhere", "198.51.100.7", "invalid IP"},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.peer
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		r.Header.Set("X-Forwarded-Proto", "https")
		if got := a.Of(r).String(); got != tt.want {
			t.Errorf("%s, %q: %s, want %s", tt.peer, tt.forwarded, got, tt.want)
		}
		if trusted := !strings.HasPrefix(tt.peer, "192.") && tt.peer != "nowhere"; a.Encrypted(r) != trusted {
			t.Errorf("%s: encrypted %v", tt.peer, a.Encrypted(r))
		}
	}
	for _, bad := range []string{"", "proxy", "10.0.0.0/40", "fe80::1%eth0"} {
		if _, err := httpguard.NewAddresses([]string{bad}); err == nil {
			t.Errorf("the proxy %q was taken", bad)
		}
	}
}

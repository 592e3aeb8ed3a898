package oauth

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestZoneOf(t *testing.T) {
	for text, want := range map[string]zone{
		"8.8.8.8": public, "2606:4700::1": public, "64:ff9b::808:808": public,
		"10.1.2.3": private, "172.16.0.1": private, "192.168.1.1": private, "169.254.169.254": private, "100.64.0.1": private,
		"fe80::1": private, "fd00::1": private, "224.0.0.1": private, "64:ff9b::a00:1": private, "2002:c0a8:101::1": private,
		"127.0.0.1": loopback, "127.9.9.9": loopback, "::1": loopback, "0.0.0.0": loopback, "::": loopback, "::ffff:127.0.0.1": loopback,
		"64:ff9b::7f00:1": loopback, "2002:7f00:1::1": loopback, "::ffff:10.0.0.1": private,
	} {
		if got := zoneOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: zone %d, want %d", text, got, want)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for _, tt := range []struct {
		raw    string
		inside zone
		ok     bool
	}{
		{"https://as.example/token", public, true},
		{"https://as.example/token?tenant=1", public, true},
		{"http://as.example/token", loopback, false},
		{"http://127.0.0.1:1/token", loopback, true},
		{"http://localhost:1/token", loopback, true},
		{"http://[::1]:1/token", loopback, true},
		{"http://127.0.0.1:1/token", private, false},
		{"https://127.0.0.1:1/token", public, false},
		{"https://10.0.0.1/token", public, false},
		{"https://10.0.0.1/token", private, true},
		{"https://LOCALHOST./token", public, false},
		{"https://as.example/token#f", public, false},
		{"https://u@as.example/token", public, false},
		{"https:as.example", public, false},
		{"data:text/html,x", loopback, false},
		{"", loopback, false},
	} {
		if err := checkAddress(tt.raw, tt.inside); (err == nil) != tt.ok {
			t.Errorf("%s from zone %d: %v, want ok %v", tt.raw, tt.inside, err, tt.ok)
		}
	}
}

// The address that is connected to decides, not the name: a public name may resolve to this
// machine.
func TestCaller_JudgesWhatItConnectsTo(t *testing.T) {
	touched := false
	here := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { touched = true }))
	defer here.Close()
	c, err := NewClient(here.Client().Transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(inside zone) error {
		ask := c.restrictedClient(inside)
		u, _ := url.Parse(here.URL)
		u.Host = "example.com:" + u.Port() // the certificate's name
		dial := ask.direct.DialContext
		// As if the name resolved to this machine.
		ask.direct.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dial(ctx, network, here.Listener.Addr().String())
		}
		_, err := ask.get(t.Context(), u.String(), new(metadata))
		return err
	}
	if err := ask(loopback); err != nil || !touched {
		t.Fatalf("for a server on loopback: %v", err)
	}
	touched = false
	for _, inside := range []zone{public, private} {
		if err := ask(inside); err == nil || !strings.Contains(err.Error(), "is refused") || touched {
			t.Errorf("from zone %d: %v, touched %v", inside, err, touched)
		}
	}
}

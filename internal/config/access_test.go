package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The public address is an origin that nobody on the way can take over. The port answers to it, and links
// lead to it.
func TestLoad_PublicURL(t *testing.T) {
	for text, want := range map[string]struct {
		fault, address, proxy string
		hosts                 []string
	}{
		"":                               {address: "http://127.0.0.1:8000"},
		"https://chat.example":           {address: "https://chat.example", proxy: "public_url", hosts: []string{"chat.example"}},
		"https://chat.example:8443/":     {address: "https://chat.example:8443", proxy: "public_url", hosts: []string{"chat.example:8443"}},
		"http://localhost:9000":          {address: "http://localhost:9000", hosts: []string{"localhost:9000"}},
		"http://chat.example":            {fault: "starts with https://"},
		"chat.example":                   {fault: "want an address that starts with"},
		"https://me:secret@chat.example": {fault: "without a user and password"},
		"https://chat.example/molar":     {fault: "only scheme, host and port"},
		"https://chat.example?x=1":       {fault: "without ? and #"},
	} {
		cfg, err := load(t, "public_url: \""+text+"\"\n")
		if want.fault != "" {
			if err == nil || !strings.Contains(err.Error(), want.fault) {
				t.Errorf("%q: %v, want %q", text, err, want.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if cfg.Address(cfg.Listen) != want.address || cfg.ProxySetting() != want.proxy || !cmp.Equal(cfg.Hosts(), want.hosts) {
			t.Errorf("%q: the address is %q, the setting %q, the hosts %q", text, cfg.Address(cfg.Listen), cfg.ProxySetting(), cfg.Hosts())
		}
	}
}

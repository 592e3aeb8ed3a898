// Package deploy_test checks the files that people deploy with. None of them runs here, so
// the tests decode them strictly and compare them with the settings and metrics of the
// program.
package _test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"molar/internal/config"
)

// endMargin is the time that a host needs after delay and drain, to save and to close.
const endMargin = 10 * time.Second

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// decode reads YAML, and fails on an unknown or a repeated key.
func decode(t *testing.T, name, text string, into any) {
	t.Helper()
	if err := yaml.NewDecoder(strings.NewReader(text), yaml.Strict()).Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// settings loads a config file as a container would, with these variables set.
func settings(t *testing.T, text string, env map[string]string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "molar.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Path: file, Explicit: true, Env: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ends checks that the time to stop a host is longer than its drain.
func ends(t *testing.T, what string, grace time.Duration, cfg *config.Config) {
	t.Helper()
	if least := cfg.Shutdown.Delay + cfg.Shutdown.Drain + endMargin; grace < least {
		t.Errorf("%s: stopped after %v, but shutdown.delay and drain take %v", what, grace, least)
	}
}

// The unit waits for the drain, runs as a separate user, and stores its data in a folder
// that this user may write.
func TestUnit(t *testing.T) {
	values := map[string]string{}
	for line := range strings.Lines(read(t, "molar.service")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if _, twice := values[name]; !ok || twice || !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(name) {
			t.Errorf("line %q", line)
		}
		values[name] = value
	}
	stop, err := time.ParseDuration(values["TimeoutStopSec"] + "s")
	if err != nil {
		t.Fatal(err)
	}
	ends(t, "molar.service", stop, config.Default())
	for name, want := range map[string]string{
		"DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "StateDirectory": "molar", "KillMode": "mixed",
		"ExecStart": "/usr/local/bin/molar serve --config /etc/molar/molar.yaml", "Restart": "on-failure",
	} {
		if values[name] != want {
			t.Errorf("%s=%s, want %s", name, values[name], want)
		}
	}
}

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

// A composeFile has the fields of a compose file that deploy/compose.yaml uses.
type composeFile struct {
	Name     string
	Services map[string]struct {
		Build struct {
			Context, Dockerfile string
		}
		Image       string
		Command     []string
		Environment map[string]string
		Volumes     []string
		Ports       []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck struct {
			Test              []string
			Interval, Timeout time.Duration
			Retries           int
		}
		ReadOnly        bool          `yaml:"read_only"`
		CapDrop         []string      `yaml:"cap_drop"`
		SecurityOpt     []string      `yaml:"security_opt"`
		StopGracePeriod time.Duration `yaml:"stop_grace_period"`
		Restart         string
	}
	Volumes map[string]struct{}
}

func TestCompose(t *testing.T) {
	var file composeFile
	decode(t, "compose.yaml", read(t, "compose.yaml"), &file)
	cfg := settings(t, read(t, "molar.yaml"), map[string]string{
		"MOLAR_KEY": strings.Repeat("k", 40), "DATABASE_URL": "postgres://molar:x@postgres:5432/molar",
	})
	for _, name := range []string{"molar", "mcp-server", "postgres", "ollama"} {
		s, ok := file.Services[name]
		if !ok {
			t.Errorf("there is no service %s", name)
			continue
		}
		if s.Image == "" || s.Restart == "" {
			t.Errorf("%s: image %q, restart %q", name, s.Image, s.Restart)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s to the network", name, port)
			}
		}
		for on, how := range s.DependsOn {
			if other, ok := file.Services[on]; !ok || how.Condition == "service_healthy" && len(other.Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s to be %s, which cannot be", name, on, how.Condition)
			}
		}
		for _, v := range s.Volumes {
			if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, "./") {
				read(t, from)
			} else if _, ok := file.Volumes[from]; !ok {
				t.Errorf("%s mounts %s, which is not declared", name, from)
			}
		}
		if s.Build.Dockerfile == "" {
			continue
		}
		ends(t, name, s.StopGracePeriod, cfg)
		read(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
		if !s.ReadOnly || len(s.CapDrop) == 0 || len(s.SecurityOpt) == 0 {
			t.Errorf("%s has more rights than it needs", name)
		}
		if _, _, found := strings.Cut(s.Environment["DATABASE_URL"], "@postgres:"); !found {
			t.Errorf("%s does not keep its conversations in postgres", name)
		}
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

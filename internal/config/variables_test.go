package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

// The name of the variables file follows from that of the config file, and is never a plain .env.
func TestVariablesFile(t *testing.T) {
	for name, want := range map[string]string{
		"/etc/molar/molar.yaml": "/etc/molar/molar.env", "molar.yml": "molar.env", "a.b.yaml": "a.b.env",
		"molar": "molar.env", "settings.conf": "settings.conf.env", "dir/.yaml": "dir/.yaml.env", ".env": ".env.env",
	} {
		if got := config.VariablesFile(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The variables file is used only for references in the config file. The environment and the file of
// --env-file override it.
func TestLoad_Variables(t *testing.T) {
	name := write(t, "default: ${A}\nmemory: {key: \"${B}\"}\nlimits: {rounds: \"${C}\"}\nmcpServers: {s: {command: x, env: {T: \"${TOKEN}\"}}}\n")
	kept := filepath.Join(filepath.Dir(name), "molar.env")
	put := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(kept, "A=dental\nB=canary-b\nC=7\nTOKEN='canary t'\nMOLAR_LISTEN=127.0.0.1:1\nOPENAI_API_KEY=canary-key\nGEMINI_API_KEY=canary-key\n")
	put(filepath.Join(filepath.Dir(name), ".env"), "TOKEN=never\n")
	below := filepath.Join(t.TempDir(), "below.env")
	put(below, "C=5\nA=dental-google\n")
	cfg, err := config.Load(config.Options{Path: name, Explicit: true, EnvFile: below, Env: environ(t, "A", "general")})
	if err != nil {
		t.Fatal(err)
	}
	server, _ := cfg.MCPServers.Get("s")
	got := []string{cfg.Default, cfg.Memory.Key.Reveal(), fmt.Sprint(cfg.Limits.Rounds), server.Env["T"].Reveal(), cfg.Listen, cfg.LLM.Keys["openai"].Reveal() + cfg.LLM.Keys["gemini"].Reveal()}
	if diff := cmp.Diff([]string{"general", "canary-b", "5", "canary t", "127.0.0.1:8000", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v := cfg.Variables; v.File != kept || len(v.Names) != 7 || cmp.Diff([]string{"GEMINI_API_KEY", "MOLAR_LISTEN", "OPENAI_API_KEY"}, v.Unused) != "" {
		t.Errorf("%+v", v)
	}
	settings, err := json.Marshal(cfg.Settings())
	if shown := fmt.Sprintf("%s %v %+v", settings, cfg, cfg); err != nil || strings.Contains(shown, "canary") {
		t.Errorf("a secret is shown: %s", shown)
	}
	cfg, err = config.Load(config.Options{Path: name, Explicit: true, EnvFile: kept, Env: environ(t)})
	if err != nil || cfg.Listen != "127.0.0.1:1" || len(cfg.Variables.Unused) != 0 {
		t.Errorf("as the file of --env-file too: %v, unused %q", err, cfg.Variables.Unused)
	}
	put(kept, "A=x\nno pair canary\n")
	if _, err := config.Load(config.Options{Path: name, Explicit: true, Env: environ(t)}); err == nil || !strings.Contains(err.Error(), "molar.env:2: ") || strings.Contains(err.Error(), "canary") {
		t.Errorf("a broken file: %v", err)
	}
	put(kept, "A=dental\n")
	_, err = config.Load(config.Options{Path: name, Explicit: true, Env: environ(t)})
	if want := "environment variable B is not set; put B=… into " + kept + ", set it, or write ${B:-default}"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a variable that is not set: %v, want %q", err, want)
	}
}

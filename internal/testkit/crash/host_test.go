package crash_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molar/internal/store/storetest"
	"molar/internal/testkit"
	"molar/internal/testkit/crash"
	"molar/internal/testkit/models"
)

// buildMolar builds the program, optionally with flags of go build.
func buildMolar(t *testing.T, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("kill loops are left out of short tests")
	}
	return testkit.Build(t, "molar/cmd/molar", flags...)
}

// serve returns the command "molar serve" with this memory, a line of the configuration, and a
// model that answers "say X" to "ask X".
func serve(t *testing.T, molar, memory string) func() *exec.Cmd {
	t.Helper()
	model := models.New(models.Config{Keep: 1, Script: func(r models.Request) *models.Reply {
		at := strings.LastIndex(r.LastUser, "ask ")
		if at < 0 || strings.Contains(r.Body, "Summarise the exchange") {
			return models.Text("They spoke.")
		}
		return models.Text("say " + strings.Fields(r.LastUser[at:])[1])
	}})
	url, err := model.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	home := t.TempDir()
	config := filepath.Join(home, "molar.yaml")
	text := fmt.Sprintf(`
llm: {provider: ollama, ollama: {base_url: %q}}
memory: %s
assistants: {plain: {system_prompt: Answer.}}
telemetry: {log_level: error}
`, url, memory)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() *exec.Cmd {
		cmd := exec.Command(molar, "serve", "--listen", "127.0.0.1:0", "--config", config)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		return cmd
	}
}

// stored returns the memory setting for the host's own store.
func stored(name string) string { return fmt.Sprintf("{store: %q}", name) }

func runHost(t *testing.T, cfg crash.Config) crash.Report {
	t.Helper()
	cfg.Writers, cfg.Seed, cfg.Uptime = 8, 1, cmp.Or(cfg.Uptime, 200*time.Millisecond)
	report, err := crash.RunHost(t.Context(), cfg)
	if err != nil {
		t.Fatalf("after %d cycles: %v", report.Cycles, err)
	}
	t.Logf("%d kills, %d turns reported done, %d cut off", report.Cycles, report.Saved, report.Unsure)
	return report
}

// The whole host is killed during turns. A turn that a client read as done is there afterwards,
// once; a turn that is repeated with the same key is never there twice.
func TestKillHost(t *testing.T) {
	t.Parallel()
	molar := buildMolar(t)
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		mustKeep(t, runHost(t, crash.Config{Command: serve(t, molar, stored(path)), Cycles: cycles(t, usualCycles)}))
	})
	t.Run("postgres", func(t *testing.T) {
		// Each cycle waits until the leases of the previous one have ended, up to 15 s.
		dsn := storetest.StartPostgres(t).Database(t)
		mustKeep(t, runHost(t, crash.Config{Command: serve(t, molar, stored(dsn)), Cycles: cycles(t, 2)}))
	})
}

// The checker must find a host whose turns are saved only after they were reported done. A kill
// may fall between two turns, or before the first on a busy machine, so several are tried, each
// after a longer time.
func TestKillHost_seesALateSave(t *testing.T) {
	late := newLateMemory(t)
	command := serve(t, buildMolar(t), fmt.Sprintf("{url: %q}", late.url))
	kill := func(child *exec.Cmd) error {
		err := child.Process.Kill()
		late.forget()
		return err
	}
	for i := range 10 {
		life := time.Duration(i+1) * 200 * time.Millisecond
		if report := runHost(t, crash.Config{Command: command, Kill: kill, Cycles: 2, Uptime: life, Name: fmt.Sprint("try-", i, "-")}); len(report.Faults) > 0 {
			return
		}
	}
	t.Error("no fault was found in 20 kills")
}

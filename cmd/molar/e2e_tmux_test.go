//go:build unix

package main

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/internal/terminal"
	"molar/internal/testkit/models"
)

// A tmux is a real terminal with its own tmux server.
type tmux struct {
	t      *testing.T
	socket string
}

func startTmux(t *testing.T, env map[string]string, columns int, args ...string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed; .ci/run installs it")
	}
	m := &tmux{t, filepath.Join(t.TempDir(), "s")}
	command := []string{"env"}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command = append(command, name+"="+env[name])
	}
	command = append(append(command, "molar"), args...)
	for i, word := range command {
		command[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	m.do("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "40",
		strings.Join(command, " ")+`; echo "ended with $?"; cat`)
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", m.socket, "kill-server").Run()
	})
	return m
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := exec.CommandContext(m.t.Context(), "tmux", append([]string{"-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %s: %v\n%s", args, err, out)
	}
	return string(out)
}

func (m *tmux) types(text string) {
	m.t.Helper()
	m.do("send-keys", "-l", "--", text)
	m.do("send-keys", "Enter")
}

// screen waits until the screen holds all texts, and returns it.
func (m *tmux) screen(texts ...string) string {
	m.t.Helper()
	shown := ""
	defer func() {
		if m.t.Failed() {
			m.t.Logf("the screen:\n%s", shown)
		}
	}()
	eventually(m.t, strings.Join(texts, ", "), func() bool {
		shown = m.do("capture-pane", "-p")
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(shown, text) })
	})
	return shown
}

const table = "# Care\n\nBrush **twice** a day, see [NHS](https://nhs.uk/teeth).\n\n" +
	"| tool | what it does |\n|---|---|\n| floss | cleans between the teeth, once a day, in the evening |\n\n```sh\nls -l\n```\n\n- one\n- two\n\nThe end."

// TestSession_Windows: an answer is the same in a wide and a narrow window, except for its line
// breaks, and the conversation can be continued in another session.
func TestSession_Windows(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		if isSummary(r) {
			return nil
		}
		return models.Text(table)
	}})
	config := plainConfig(t, "")
	for _, columns := range []int{200, 40} {
		m := startTmux(t, homeEnv(t, model), columns, "chat", "--config", config, "--conversation", fmt.Sprintf("chat_%d", columns))
		m.screen("\n>")
		m.types("How do I care for my teeth, and what do I need for it?")
		shown := m.screen("The end.", "[ollama")
		for line := range strings.Lines(shown) {
			if terminal.Width(strings.TrimRight(line, "\n")) > columns {
				t.Errorf("%d columns: too wide: %q", columns, line)
			}
		}
		for _, want := range []string{"Care\n", "Brush twice a day,", "floss", "  ls -l\n", "• one\n• two\n"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%d columns: %q is missing:\n%s", columns, want, shown)
			}
		}
		if strings.Contains(shown, "**") || strings.Count(shown, "The end.") != 1 || strings.Count(shown, "> How") != 1 {
			t.Errorf("%d columns:\n%s", columns, shown)
		}
		if wide := strings.Contains(shown, "once a day, in the evening\n"); wide != (columns == 200) {
			t.Errorf("%d columns: the table does not fit the window:\n%s", columns, shown)
		}
		m.do("send-keys", "C-d")
		m.screen("continue with: molar chat", "ended with 0")
	}
	m := startTmux(t, homeEnv(t, model), 200, "chat", "--config", config, "--resume", "chat_40")
	m.screen("> How do I care", "The end.")
	m.types("/resume")
	m.screen("  1  ", "  2  ", "number, or Enter")
	m.types("2")
	m.types("/history")
	m.types("/quit")
	m.screen("--resume chat_200", "ended with 0")
}

// TestSession_TwoAtOnce: two sessions on one store do not disturb each other; in the same
// conversation, the earlier of two questions may be reported as not saved.
func TestSession_TwoAtOnce(t *testing.T) {
	long(t, "four sessions are typed into")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 3})
	for _, ids := range [][2]string{{"chat_a", "chat_b"}, {"chat_both", "chat_both"}} {
		env, config := homeEnv(t, model), plainConfig(t, "")
		windows := []*tmux{
			startTmux(t, env, 80, "chat", "--config", config, "--conversation", ids[0]),
			startTmux(t, env, 80, "chat", "--config", config, "--conversation", ids[1]),
		}
		for _, m := range windows {
			m.screen("\n>")
			m.types("Count")
		}
		for _, m := range windows {
			m.screen("tok3")
			m.types("/history")
			m.types("/quit")
			shown := m.screen("ended with 0")
			lost := strings.Contains(shown, "answer not saved: a later turn of this conversation has begun")
			if strings.Contains(shown, "goroutine") || lost && ids[0] != ids[1] || !lost && !strings.Contains(shown, "[ollama") {
				t.Errorf("%s and %s:\n%s", ids[0], ids[1], shown)
			}
		}
	}
}

// TestSession_MenuWhileAnswering: the menu is used with the arrow keys while an answer streams above it,
// in a window that changes its size, and leaves nothing in the answer. What is submitted meanwhile runs
// after it.
func TestSession_MenuWhileAnswering(t *testing.T) {
	long(t, "an answer streams for ten seconds")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 500, Interval: 20 * time.Millisecond})
	m := startTmux(t, homeEnv(t, model), 60, "chat", "--config", plainConfig(t, ""))
	m.screen("\n>")
	m.types("Count")
	m.screen("tok5")
	m.do("send-keys", "-l", "/")
	m.screen("\n> /\n› /help", "… ", " more\n")
	m.do("send-keys", "Down")
	m.do("send-keys", "Down")
	m.screen("\n  /help", "\n› /servers")
	m.do("resize-window", "-x", "80", "-y", "30")
	m.screen("› /servers")
	m.do("send-keys", "-l", "re")
	m.screen("\n> /re\n› /resume", "/retry")
	m.do("send-keys", "Escape")
	eventually(t, "no menu", func() bool { return !strings.Contains(m.do("capture-pane", "-p"), "/resume") })
	if shown := m.screen("\n> /re\n"); strings.Contains(shown, "[ollama") || strings.Contains(shown, "stopped") {
		t.Errorf("Escape closes the menu, and nothing else:\n%s", shown)
	}
	m.do("send-keys", "C-u")
	m.types("/too")
	m.screen("then: /tools")
	m.screen("tok500", "[ollama", "\n> /tools\n")
	shown := m.do("capture-pane", "-p", "-S", "-100")
	_, answer, _ := strings.Cut(shown, "> Count\n")
	answer, _, _ = strings.Cut(answer, "\n[ollama")
	words := strings.Fields(answer)
	for i, word := range words {
		if want := fmt.Sprintf("tok%d", i+1); word != want {
			t.Fatalf("the answer has %q, not %q:\n%s", word, want, shown)
		}
	}
	if len(words) != 500 {
		t.Errorf("%d words:\n%s", len(words), shown)
	}
	m.do("send-keys", "C-d")
	m.screen("ended with 0")
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/live"
	"molar/internal/testkit/models"
)

// weatherman is a model that calls the weather whenever it is offered, by a real call or in print, and
// says the same to everything else.
func weatherman(printed bool) func(models.Request) *models.Reply {
	return func(r models.Request) *models.Reply {
		switch {
		case r.Pass == models.PassTool && strings.Contains(r.LastUser, "Hanoi"):
			if printed {
				return models.Text(`<tool_call>{"name":"office__get_weather","arguments":{"city":"Hanoi"}}</tool_call>`)
			}
			return &models.Reply{Calls: []models.Call{{Name: "office__get_weather", Args: json.RawMessage(`{"city":"Hanoi"}`)}}}
		case r.Pass == models.PassTool && strings.Contains(r.LastUser, "Book the"):
			return &models.Reply{Calls: []models.Call{{
				Name: "office__book_room",
				Args: json.RawMessage(`{"room":"blue","people":14,"projector":true,"contact":{"name":"Lan","phone":"0905 123 456"}}`),
			}}}
		case r.Pass == models.PassJudge:
			return models.Text("YES")
		}
		return models.Text("It has 23.7 degrees there, and the code is 83417.")
	}
}

// doctorLive tries a model of a scripted Ollama.
func doctorLive(ctx context.Context, t *testing.T, cfg models.Config, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	file := writeFile(t, "molar.yaml", "llm: {provider: ollama, ollama: {model: '"+cfg.Models[0]+"', small_model: '"+cfg.Models[0]+"'}}\n")
	var out, errs bytes.Buffer
	code = execute(ctx, append([]string{"doctor", "--live", "--config", file}, args...), lookup(homeEnv(t, startModel(t, cfg))), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The checks go through the provider, so that what it mends counts as what a turn gets.
func TestDoctorLive(t *testing.T) {
	t.Parallel()
	for name, printed := range map[string]bool{"calls": false, "prints its calls": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := doctorLive(t.Context(), t, models.Config{Models: []string{"one:latest"}, Script: weatherman(printed)}, "--max-prompt", "4096")
			if code != cli.OK || stderr != "" {
				t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
			}
			want := []string{
				"RESULT   CHECK", "ok       calls a tool", "ok       uses a result", "skipped  picture", "fails    two steps",
				"ollama with one:latest, small model one:latest, after ", "- usable for tools, but not for: ", "- no pictures\n",
			}
			if printed {
				want = append(want, "weak     calls as text", "- calls print as text: salvaged\n")
			} else {
				want = append(want, "ok       calls as text")
			}
			for _, line := range want {
				if !strings.Contains(stdout, line) {
					t.Errorf("%q is missing in\n%s", line, stdout)
				}
			}
		})
	}
}

// A model that never calls is of no use for tools, and the code says so; JSON has the same for
// programs.
func TestDoctorLive_JSON(t *testing.T) {
	t.Parallel()
	never := func(models.Request) *models.Reply { return models.Text("YES, it is a fine day.") }
	code, stdout, stderr := doctorLive(t.Context(), t, models.Config{Models: []string{"one:latest"}, Script: never}, "--max-prompt", "2048", "--output-format", "json")
	var r live.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.Failure {
		t.Fatalf("code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	if r.Usable || r.Provider != "ollama" || r.Model != "one:latest" || len(r.Checks) != r.Planned || r.Calls == 0 || !strings.HasPrefix(r.Verdict[0], "not fit for tools: calls a tool") {
		t.Errorf("got %+v", r)
	}
}

// An interrupted trial prints what it found.
func TestDoctorLive_Interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	script := func(r models.Request) *models.Reply {
		if strings.Contains(r.LastUser, "Book the") {
			cancel()
		}
		return weatherman(false)(r)
	}
	code, stdout, _ := doctorLive(ctx, t, models.Config{Models: []string{"one:latest"}, Script: script})
	if code != cli.Interrupted || !strings.Contains(stdout, "ok       calls a tool") || !strings.Contains(stdout, "- stopped after 1 of ") {
		t.Errorf("code %d\n%s", code, stdout)
	}
}

// A model in a cloud costs, though the address is this machine's.
func TestDoctorLive_Cloud(t *testing.T) {
	t.Parallel()
	cfg := models.Config{Models: []string{"big:cloud"}, Script: weatherman(false)}
	code, stdout, stderr := doctorLive(t.Context(), t, cfg)
	if code != cli.Misuse || stdout != "" || !strings.Contains(stderr, "ollama with big:cloud is not on this machine") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = doctorLive(t.Context(), t, cfg, "--yes", "--max-prompt", "2048")
	if code != cli.OK || !strings.Contains(stderr, "which may cost money\n") || !strings.Contains(stdout, "ok       calls a tool") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

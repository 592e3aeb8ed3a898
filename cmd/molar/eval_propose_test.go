package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/testkit"
	"molar/internal/testkit/models"
)

// TestEval_proposesNoSecret: a secret that a tool returned and the model repeated becomes no check, while what stands
// beside it does.
func TestEval_proposesNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "sk-proj-0123456789abcdefghij0123456789"
	config := plainConfig(t, "mcpServers: {bad: {command: "+testkit.Build(t, "molar/internal/testkit/badmcp")+"}}\n")
	model := startModel(t, models.Config{Tool: "echo", Args: json.RawMessage(`{"text":"Ticket AB-2024 has the key ` + secret + `"}`), Script: func(r models.Request) *models.Reply {
		if r.Pass == models.PassText {
			return models.Text("It is ticket AB-2024, the key is " + secret + ".")
		}
		return nil
	}})
	file := filepath.Join(t.TempDir(), "case.yaml")
	code, stdout, stderr := evalRun(t, model.URL(), "eval", "record", "--config", config, "--provider", "ollama", "--take", "all", "--out", file, "Which one?")
	if code != 0 || !strings.Contains(stdout, "contains: AB-2024") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	_, list, _ := strings.Cut(stdout, "checks of the answer")
	_, checks, found := strings.Cut(readText(t, file), "answer:")
	if !found || strings.Contains(checks+list, "sk-proj") || strings.Contains(checks+list, "REDACTED") || strings.Contains(checks+list, "0123456789") ||
		strings.Count(checks, "- ") != 1 { // nor a part of its mark
		t.Errorf("proposed: %s\nwritten: %s", list, checks)
	}
	if code, stdout, stderr := evalRun(t, nowhere, "eval", "run", file); code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/testkit/models"
)

// A question on the command line attaches the files that it names as @path if a person can have typed
// it. Without a terminal it may be anyone's text, so nothing is read, and the person is told.
func TestChat_NamedFiles(t *testing.T) {
	t.Parallel()
	model := startModel(t, models.Config{Script: func(r models.Request) *models.Reply {
		if strings.Contains(r.Body, "Tooth 36 hurts.") {
			return models.Text("The file came.")
		}
		return models.Text("No file came.")
	}})
	env, config := homeEnv(t, model), plainConfig(t, "")
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte("Tooth 36 hurts."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		question, answer string
	}{
		{"Sum up @" + notes + ".", "The file came."},
		{"Write to me@home.test about @" + notes + "x", "No file came."},
		{"Sum up:\nDear all,\nsee @" + notes, "No file came."},
	} {
		p := sitAt(t, env, "chat", "--config", config, tt.question)
		p.see(tt.answer)
		p.exit(cli.OK)
	}
	code, out := molarIn(t, env, "chat", "--config", config, "Sum up @"+notes)
	if code != cli.OK || !strings.Contains(out, "No file came.") || !strings.Contains(out, "warning: @"+notes+" is not attached: without a terminal the text may be anyone's; name the file with --file "+notes) {
		t.Errorf("without a terminal: %d %s", code, out)
	}
}

package session

import (
	"bytes"
	"strings"
	"testing"

	"molar/agent/answer"
	"molar/internal/cli"
	"molar/internal/terminal"
	"molar/schemas"
)

func commented(t *testing.T, r *renderer) {
	t.Helper()
	call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "a__b", Arguments: "{}"}}
	for _, e := range []answer.Event{
		{Kind: answer.KindText, Text: "Let me look."},
		{Kind: answer.KindCommentary, Text: "Let me look."},
		{Kind: answer.KindToolCall, Call: &call},
		{Kind: answer.KindText, Text: "\n\nIt is there."},
		{Kind: answer.KindDone, Done: &answer.Done{}},
	} {
		if err := r.event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
}

// Commentary is visible and apart from the answer in every format.
func TestRenderer_Commentary(t *testing.T) {
	for format, want := range map[string]string{
		cli.Text:       "Let me look.\n\nIt is there.\n",
		cli.JSON:       `"answer":"It is there.","commentary":["Let me look."]`,
		cli.StreamJSON: `{"type":"commentary","text":"Let me look."}` + "\n",
	} {
		var stdout, stderr bytes.Buffer
		commented(t, newRenderer(format, &stdout, &stderr))
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: %s", format, &stdout)
		}
	}
	var both bytes.Buffer // as on one screen
	commented(t, newRenderer(cli.Text, &both, &both))
	if want := "Let me look.\n• a__b {}\n\nIt is there.\n"; both.String() != want {
		t.Errorf("%q", both.String())
	}
	both.Reset()
	r := newRenderer(cli.Text, &both, &both)
	r.styled = terminal.NewMarkdown(&both, func() (int, int) { return 80, 24 })
	commented(t, r)
	if got := both.String(); !strings.Contains(got, terminal.Dim("Let me look.")+"\r\n• a__b {}\n") || strings.Contains(got, terminal.Dim("It is there.")) {
		t.Errorf("at a terminal: %q", got)
	}
}

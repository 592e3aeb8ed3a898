package terminal_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/terminal"
)

// Each notice can be told from the others without colours, fits the window, and executes nothing.
func TestNotice(t *testing.T) {
	const evil = "\x1b[2J"
	tests := map[string]struct {
		kind        terminal.Notice
		label, text string
		want        string
	}{
		"emergency": {terminal.Emergency, "EMERGENCY / KHẨN CẤP", "**Call 115 now.**" + evil + "\n\nStay with the person until help comes.", `
┏━ !! EMERGENCY / KHẨN CẤP ━━━━━━━━━━━━
┃ Call 115 now.
┃
┃ Stay with the person until help
┃ comes.
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
`},
		"approval": {terminal.Approval, "May this run?", "Send a letter." + evil + "\nAsked because its text came from a page.", `
┌─ ? May this run? ────────────────────
│ Send a letter.
│ Asked because its text came from a
│ page.
└──────────────────────────────────────
`},
		"warning": {terminal.Warning, "warning", "tools are missing:\nserver files" + evil + " failed", `
! warning: tools are missing: server
  files failed
`},
		"error":   {terminal.Failure, "error", "the model does not answer" + evil, "\n✗ error: the model does not answer\n"},
		"refusal": {terminal.Refusal, "refused", "dental does not answer this", "\n⊘ refused: dental does not answer\n  this\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var plain, styled strings.Builder
			for _, row := range test.kind.Rows(test.label, test.text, 40) {
				_, _ = io.WriteString(&styled, row+"\n")
				_, _ = io.WriteString(terminal.Plain(&plain), row+"\n")
				if width := terminal.Width(strings.TrimSuffix(plain.String()[strings.LastIndex(strings.TrimSuffix(plain.String(), "\n"), "\n")+1:], "\n")); width > 39 {
					t.Errorf("%d columns: %q", width, row)
				}
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), plain.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if strings.Contains(styled.String(), evil) || !strings.Contains(styled.String(), "\x1b[") {
				t.Errorf("%q", styled.String())
			}
		})
	}
}

package session

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/cli"
	"molar/schemas"
	"molar/toolhandler"
)

// TestRenderer_Waiting: what is waited for is told only when the wait is felt.
func TestRenderer_Waiting(t *testing.T) {
	for wait, want := range map[time.Duration]string{100 * time.Millisecond: "", 2 * time.Second: "waiting for family\n"} {
		synctest.Test(t, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			r := newRenderer(cli.Text, &stdout, &stderr)
			if err := r.event(answer.Event{Kind: answer.KindStep, Step: stepTools, Text: "waiting for family"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			if err := r.event(answer.Event{Kind: answer.KindText, Text: "Hello"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if stdout.String() != "Hello" || stderr.String() != want {
				t.Errorf("%s: %q and %q", wait, &stdout, &stderr)
			}
		})
	}
}

// TestApprovalLines: a person sees all of what a call would do; of very long arguments
// the start, the end, and how much is between.
func TestApprovalLines(t *testing.T) {
	call := func(arguments string) string {
		ask := agent.Ask{Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "sh__run", Server: "sh"}}, Reason: toolhandler.Reason{Rule: toolhandler.RuleConfirm}}
		ask.Call.Function.Arguments = arguments
		return strings.Join(approvalLines(ask), "\n")
	}
	long := `{"command":"` + strings.Repeat("echo harmless; ", 100) + `rm -rf /tmp/x"}`
	if got := call(long); !strings.Contains(got, long) {
		t.Errorf("not all is shown: %q", got)
	}
	huge := `{"command":"` + strings.Repeat("ă", 5000) + `; rm -rf /tmp/x"}`
	if got := call(huge); !strings.Contains(got, "2029 more characters") || !strings.HasSuffix(got, `; rm -rf /tmp/x"}`) {
		t.Errorf("%d bytes: %q", len(got), got[max(len(got)-200, 0):])
	}
	if got := call("{\"a\":\"\x1b[2J\u202ex\"}"); strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("control characters: %q", got)
	}
}

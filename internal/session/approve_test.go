package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/internal/terminal"
	"molar/schemas"
)

// aTyped is a text that is typed letter by letter, each after a wait.
type aTyped struct {
	wait time.Duration
	text string
}

func quietSession(screen *strings.Builder) *session {
	size := func() (int, int) { return 100, 30 }
	s := newSession(nil, Flags{}, screen, size, nil)
	s.grants = &kept{}
	s.editor.SetBusy(true)
	return s
}

// kept are grants without a database.
type kept []schemas.Grant

func (k *kept) GrantsOf(context.Context, string, string) ([]schemas.Grant, error) { return nil, nil }

func (k *kept) ListGrants(context.Context, string) ([]schemas.Grant, error) { return *k, nil }

func (k *kept) DeleteGrant(_ context.Context, _, id string) (bool, error) {
	*k = slices.DeleteFunc(slices.Clone(*k), func(g schemas.Grant) bool { return g.ID == id })
	return true, nil
}

func (s *session) typing(typed []aTyped) {
	for _, part := range typed {
		for _, r := range part.text {
			time.Sleep(part.wait)
			key := terminal.Key{Code: terminal.KeyRune, Text: string(r)}
			if r == '\n' {
				key = terminal.Key{Code: terminal.KeyEnter}
			}
			s.keys <- key
		}
	}
}

// What a person types of their next message is no answer; an answer is typed after a
// pause, and ends with Enter.
func TestSession_ApprovalIsNotTypedByAccident(t *testing.T) {
	const quick, slow = 120 * time.Millisecond, 700 * time.Millisecond
	tests := []struct {
		name    string
		typed   []aTyped
		decided bool
		allowed bool
		scope   agent.Scope
		ahead   string // what stays for the message line
		shows   string
	}{
		{"the rest of a sentence", []aTyped{{quick, " a bad plot about one year ago"}}, false, false, "", " a bad plot about one year ago", ""},
		{"a sentence and its Enter", []aTyped{{quick, "so no\n"}}, false, false, "", "so no\n", ""},
		{"a letter at once", []aTyped{{quick, "a\n"}}, false, false, "", "a\n", ""},
		{"a letter without Enter", []aTyped{{slow, "a"}}, false, false, "", "", ""},
		{"a sentence after a pause", []aTyped{{slow, "o"}, {quick, "n Monday\n"}}, false, false, "", "on Monday", "not an answer"},
		{"a sentence in two parts", []aTyped{{quick, "that was a"}, {slow, " "}, {quick, "plot\n"}}, false, false, "", "that was a plot", "not an answer"},
		{"once", []aTyped{{slow, "o"}, {quick, "\n"}}, true, true, "", "", "allowed once"},
		{"always, after the end of a sentence", []aTyped{{quick, "about it"}, {slow, "a"}, {slow, "\n"}}, true, true, agent.Always, "about it", "allowed always: s__act"},
		{"in this conversation", []aTyped{{slow, "c\n"}}, true, true, agent.InConversation, "", "allowed in this conversation: s__act"},
		{"no", []aTyped{{slow, "N\n"}}, true, false, "", "", "refused"},
		{"a word", []aTyped{{slow, "yes\n"}}, true, true, "", "", "allowed once"},
		{"an answer after what was none", []aTyped{{slow, "x\n"}, {slow, "n\n"}}, true, false, "", "x", "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var screen strings.Builder
				s := quietSession(&screen)
				ctx, cancel := context.WithCancel(t.Context())
				ask := approvalAsk{agent.Ask{Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "s__act"}}, Scopes: []agent.Scope{agent.Once, agent.InConversation, agent.Always}}, make(chan agent.Decision, 1)}
				ended := make(chan bool)
				go func() { ended <- s.approve(ctx, ask) }()
				s.typing(tt.typed)
				synctest.Wait()
				var got agent.Decision
				decided := len(ask.answer) > 0
				if decided {
					got = <-ask.answer
				} else {
					cancel()
				}
				if <-ended != decided || decided != tt.decided || got.Allowed != tt.allowed || got.Scope != tt.scope {
					t.Errorf("decided %v, %+v", decided, got)
				}
				var ahead strings.Builder
				for _, line := range s.queue {
					ahead.WriteString(line.draft.String() + "\n")
				}
				ahead.WriteString(s.editor.Text())
				if ahead.String() != tt.ahead || !strings.Contains(screen.String(), tt.shows) {
					t.Errorf("left for the message line: %q, want %q; shown:\n%s", ahead.String(), tt.ahead, &screen)
				}
				cancel()
			})
		})
	}
}

func TestSession_Approvals(t *testing.T) {
	var screen strings.Builder
	s := quietSession(&screen)
	s.f.Conversation = "c1"
	s.grants = &kept{{ID: "1", Tool: "s__act", Arguments: json.RawMessage(`{"to":"a"}`)}, {ID: "2", Tool: "s__other", Arguments: json.RawMessage(`{}`), ConversationID: "c1"}, {ID: "3", Tool: "s__far", Arguments: json.RawMessage(`{}`), ConversationID: "c2"}}
	for _, tt := range []struct {
		args, shows, fault string
		left               int
	}{
		{"", "s__act with to a (always)", "", 3},
		{"", "s__other, whatever its arguments (in this conversation)", "", 3},
		{"", "s__far, whatever its arguments (in the conversation c2)", "", 3},
		{"s__other, whatever its arguments", "s__other, whatever its arguments asks again", "", 2},
		{"s__other", "", "\"s__other\" is not allowed", 2},
		{"clear", "s__act with to a asks again", "", 0},
		{"", "nothing is allowed", "", 0},
	} {
		screen.Reset()
		err := s.approvals(t.Context(), tt.args)
		if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("/approvals %s: %v", tt.args, err)
		}
		if left, _ := s.grants.ListGrants(t.Context(), ""); !strings.Contains(screen.String(), tt.shows) || len(left) != tt.left {
			t.Errorf("/approvals %s: %q, left %v", tt.args, &screen, left)
		}
	}
}

// A call that may be allowed once only has no other answer.
func TestChosenBy_once(t *testing.T) {
	for answer, want := range map[string]bool{"o": true, "n": true, "c": false, "a": false, "always": false} {
		if _, _, known := chosenBy(agent.Ask{Scopes: []agent.Scope{agent.Once}}, answer); known != want {
			t.Errorf("%q: %v", answer, known)
		}
	}
}

// A number behind the scope chooses what is wider; one that is not offered is no answer.
func TestChosenBy_wider(t *testing.T) {
	ask := agent.Ask{Scopes: []agent.Scope{agent.Once, agent.InConversation, agent.Always}, Destinations: []agent.Destination{
		{ID: "exact", Arguments: map[string]string{"path": "~/reports/a.txt"}},
		{ID: "folder path ~/reports", Width: schemas.WidthFolder, Name: "~/reports", Arguments: map[string]string{"path": "~/reports"}},
	}}
	ask.Tool.Name = "files__write_file"
	for answer, want := range map[string]string{
		"a": "always ", "a 1": "always ", "a2": "always folder path ~/reports", "c 2": "conversation folder path ~/reports",
		"a 3": "unknown", "a 0": "unknown", "o 2": "unknown", "2": "unknown", "a 99999999999999999999": "unknown",
	} {
		d, said, known := chosenBy(ask, answer)
		got := string(d.Scope) + " " + d.Destination
		if !known {
			got = "unknown"
		}
		if got != want || d.Destination != "" && !strings.Contains(said, "(folder)") {
			t.Errorf("%s: %q, not %q (%s)", answer, got, want, said)
		}
	}
	lines := strings.Join(approvalLines(ask), "\n")
	if !strings.Contains(lines, "with 2 behind the letter: files__write_file with path ~/reports (folder)") {
		t.Errorf("%s", lines)
	}
}

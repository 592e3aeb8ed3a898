package session

import (
	"context"
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
	return &session{
		con: screen, size: size, editor: terminal.NewEditor(screen, size, nil, nil),
		keys: make(chan terminal.Key, 256), always: map[string]bool{},
	}
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
		always  bool
		ahead   string // what stays for the message line
		shows   string
	}{
		{"the rest of a sentence", []aTyped{{quick, " a bad plot about one year ago"}}, false, false, false, " a bad plot about one year ago", ""},
		{"a sentence and its Enter", []aTyped{{quick, "so no\n"}}, false, false, false, "so no\n", ""},
		{"a letter at once", []aTyped{{quick, "a\n"}}, false, false, false, "a\n", ""},
		{"a letter without Enter", []aTyped{{slow, "a"}}, false, false, false, "", ""},
		{"a sentence after a pause", []aTyped{{slow, "o"}, {quick, "n Monday\n"}}, false, false, false, "on Monday", "no answer"},
		{"a sentence in two parts", []aTyped{{quick, "that was a"}, {slow, " "}, {quick, "plot\n"}}, false, false, false, "that was a plot", "no answer"},
		{"once", []aTyped{{slow, "o"}, {quick, "\n"}}, true, true, false, "", "allowed once"},
		{"always, after the end of a sentence", []aTyped{{quick, "about it"}, {slow, "a"}, {slow, "\n"}}, true, true, true, "about it", "allowed in this session: s__act"},
		{"no", []aTyped{{slow, "N\n"}}, true, false, false, "", "refused"},
		{"a word", []aTyped{{slow, "yes\n"}}, true, true, false, "", "allowed once"},
		{"an answer after what was none", []aTyped{{slow, "x\n"}, {slow, "n\n"}}, true, false, false, "x", "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var screen strings.Builder
				s := quietSession(&screen)
				ctx, cancel := context.WithCancel(t.Context())
				ask := approvalAsk{agent.Ask{Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: "s__act"}}}, make(chan agent.Decision, 1)}
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
				if <-ended != decided || decided != tt.decided || got.Allowed != tt.allowed || s.always["s__act"] != tt.always {
					t.Errorf("decided %v, %+v, always %v", decided, got, s.always)
				}
				var ahead strings.Builder
				for _, key := range s.ahead {
					ahead.WriteString(key.Text)
					if key.Code == terminal.KeyEnter {
						ahead.WriteByte('\n')
					}
				}
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
	for _, tt := range []struct {
		args, shows, fault string
		left               int
	}{
		{"", "s__act", "", 2},
		{"s__other", "s__other asks again", "", 1},
		{"s__other", "", "s__other is not allowed for the session", 1},
		{"clear", "every tool asks again", "", 0},
		{"", "no tool is allowed for the session", "", 0},
	} {
		if tt.left == 2 {
			s.always = map[string]bool{"s__act": true, "s__other": true}
		}
		screen.Reset()
		err := s.approvals(t.Context(), tt.args)
		if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("/approvals %s: %v", tt.args, err)
		}
		if !strings.Contains(screen.String(), tt.shows) || len(s.always) != tt.left {
			t.Errorf("/approvals %s: %q, left %v", tt.args, &screen, s.always)
		}
	}
}

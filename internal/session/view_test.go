package session

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/testkit"
	"molar/schemas"
)

// document has what a model streams as white space alone: between blocks, in lists and code.
const document = "# Chăm sóc răng\n\nBrush **twice** a day, *gently*.\n\n1. first\n2. second\n   - nested one\n\n" +
	"```go\nif a {\n\n\tb()\n}\n```\n\n| tool | use |\n|---|---|\n| floss | daily |\n\n> quoted\n> text\n\nThe end.\n"

// assistantHost opens a host with the built-in assistants, without a model.
func assistantHost(t *testing.T) *host.Host {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "molar.yaml")
	if err := os.WriteFile(file, []byte("llm: {provider: offline}\nmemory: {store: "+filepath.Join(dir, "molar.db")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		if name != "HOME" {
			return "", false
		}
		return dir, true
	}
	c := &cli.CLI{
		Env: env, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, ConfigFile: file,
	}
	cfg, err := c.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, slog.New(slog.DiscardHandler), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// viewed is what the view of a turn leaves on the screen.
func viewed(t *testing.T, h *host.Host, styled bool, pieces ...string) []string {
	t.Helper()
	con := &testkit.Screen{Styled: styled}
	s := newSession(nil, Flags{}, con, func() (int, int) { return 60, 200 }, nil)
	s.h = h
	v := &turnView{s: s, began: time.Now(), running: map[string]time.Time{}}
	for _, p := range pieces {
		if err := v.event(answer.Event{Kind: answer.KindText, Text: p}); err != nil {
			t.Fatal(err)
		}
	}
	v.pause()
	return con.Lines()
}

// TestTurnView_PiecesOfAnAnswer: an answer looks the same however it was cut, and no piece
// of it is taken for an emergency notice.
func TestTurnView_PiecesOfAnAnswer(t *testing.T) {
	h := assistantHost(t)
	whole := viewed(t, h, true, document)
	for i := 1; i < len(document); i++ {
		if diff := cmp.Diff(whole, viewed(t, h, true, document[:i], document[i:])); diff != "" {
			t.Errorf("cut at byte %d (-whole +pieces):\n%s", i, diff)
		}
	}
	var bytewise, words []string
	for _, b := range []byte(document) {
		bytewise = append(bytewise, string([]byte{b}))
	}
	for word := range strings.SplitSeq(document, " ") {
		words = append(words, word, " ")
	}
	for name, pieces := range map[string][]string{"a byte at a time": bytewise, "white space alone": words[:len(words)-1]} {
		if diff := cmp.Diff(whole, viewed(t, h, true, pieces...)); diff != "" {
			t.Errorf("%s (-whole +pieces):\n%s", name, diff)
		}
	}
}

// TestTurnView_Notice: the notice of an emergency has one alarm above it, and the lines of
// tools stand apart from it.
func TestTurnView_Notice(t *testing.T) {
	h := assistantHost(t)
	con := &testkit.Screen{}
	s := newSession(nil, Flags{}, con, func() (int, int) { return 300, 200 }, nil)
	s.h = h
	v := &turnView{s: s, began: time.Now(), running: map[string]time.Time{}}
	notice := ""
	turn := agent.Turn{Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "My tooth was pulled and now my throat swells and I cannot breathe")}}
	for e, err := range h.Runner().Run(t.Context(), turn) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == answer.KindText && notice == "" {
			notice = e.Text
		}
		if err := v.event(e); err != nil {
			t.Fatal(err)
		}
	}
	if h.Agent.Notice(notice) == "" {
		t.Fatalf("the answer does not begin with a notice: %q", notice)
	}
	text := strings.Join(con.Lines(), "\n")
	if n := strings.Count(text, "EMERGENCY"); n != 1 || !strings.HasPrefix(text, "┏━ !! EMERGENCY / KHẨN CẤP ━") {
		t.Errorf("%d alarms:\n%s", n, text)
	}
	if tool := slices.IndexFunc(con.Lines(), func(line string) bool { return strings.Contains(line, "• ") }); tool < 0 || !strings.HasPrefix(con.Lines()[tool], "• ") {
		t.Errorf("the tool does not stand on a line of its own:\n%s", text)
	}
	alarmed := strings.Join(viewed(t, h, false, "It waits for your yes.", "\n\n"+strings.TrimSpace(notice), "\n\n", "Keep calm."), "\n")
	before, after, found := strings.Cut(alarmed, "\n┏━ !! EMERGENCY / KHẨN CẤP ━━")
	if _, after, _ = strings.Cut(after, "\n┗━"); before != "It waits for your yes." || !found || !strings.HasSuffix(after, "━\nKeep calm.\n") {
		t.Errorf("no alarm behind another text:\n%s", alarmed)
	}
}

// TestTurnView_Stopped: who stops a turn is told what is kept of it, as far as that is known.
func TestTurnView_Stopped(t *testing.T) {
	for kept, want := range map[agent.StoredPart]string{
		agent.StoredAnswer:   "stopped; what was answered is kept as interrupted",
		agent.StoredQuestion: "stopped; the question is kept",
		agent.StoredNothing:  "stopped; nothing of this turn is kept",
		"":                   "stopped; what is stored of this turn is kept as interrupted",
	} {
		con := &testkit.Screen{}
		(&turnView{s: newSession(nil, Flags{}, con, func() (int, int) { return 100, 40 }, nil)}).stopped(kept)
		if got := strings.TrimSpace(strings.Join(con.Lines(), "\n")); got != want {
			t.Errorf("kept %q: %q, want %q", kept, got, want)
		}
	}
}

// TestRenderer_NoticeThenTool: what comes before a tool's line is ended, and the answer has
// no line more for it.
func TestRenderer_NoticeThenTool(t *testing.T) {
	call := schemas.ToolCall{ID: "k", Function: schemas.FunctionCall{Name: "a__b", Arguments: "{}"}}
	for _, test := range []struct {
		name          string
		events        []answer.Event
		screen, alone string
	}{
		{
			"an answer follows",
			[]answer.Event{{Kind: answer.KindText, Text: "Call 115."}, {Kind: answer.KindToolCall, Call: &call}, {Kind: answer.KindText, Text: "\n\nKeep calm."}},
			"Call 115.\n• a__b {}\n\nKeep calm.\n", "Call 115.\n\nKeep calm.\n",
		},
		{
			"nothing follows",
			[]answer.Event{{Kind: answer.KindText, Text: "Call 115."}, {Kind: answer.KindToolCall, Call: &call}},
			"Call 115.\n• a__b {}\n", "Call 115.\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var both, stdout bytes.Buffer
			for to, notes := range map[*bytes.Buffer]io.Writer{&both: &both, &stdout: io.Discard} {
				r := newRenderer(cli.Text, to, notes)
				for _, e := range append(test.events, answer.Event{Kind: answer.KindDone, Done: &answer.Done{}}) {
					if err := r.event(e); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.finish(); err != nil {
					t.Fatal(err)
				}
			}
			if both.String() != test.screen || stdout.String() != test.alone {
				t.Errorf("on one screen %q, want %q; alone %q, want %q", &both, test.screen, &stdout, test.alone)
			}
		})
	}
}

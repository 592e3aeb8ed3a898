package terminal_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/terminal"
)

// The menu shows what fits the word while it is typed, and leaves nothing behind.
func TestEditor_Menu(t *testing.T) {
	tests := map[string]struct {
		typed  string
		event  terminal.Event
		text   string
		screen []string
	}{
		"all":                  {"/", terminal.Edited, "/", []string{"> /", "› /help    lists all", "  /resume  an earlier one", "  /rescue", "  /model   Mô hình 漢字…"}},
		"what fits":            {"/re", terminal.Edited, "/re", []string{"> /re", "› /resume  an earlier one", "  /rescue"}},
		"letters in order":     {"/rs", terminal.Edited, "/rs", []string{"> /rs", "› /resume  an earlier one", "  /rescue"}},
		"down":                 {"/re\x1b[B", terminal.Edited, "/re", []string{"> /re", "  /resume  an earlier one", "› /rescue"}},
		"down and around":      {"/re\x1b[B\x1b[B", terminal.Edited, "/re", []string{"> /re", "› /resume  an earlier one", "  /rescue"}},
		"up and around":        {"/re\x1b[A", terminal.Edited, "/re", []string{"> /re", "  /resume  an earlier one", "› /rescue"}},
		"typing chooses anew":  {"/r\x1b[Be", terminal.Edited, "/re", []string{"> /re", "› /resume  an earlier one", "  /rescue"}},
		"Tab takes":            {"/re\t", terminal.Edited, "/resume", []string{"> /resume"}},
		"Enter takes and runs": {"/he\r", terminal.Submitted, "/help", []string{"> /help"}},
		"Enter runs":           {"/help\r", terminal.Submitted, "/help", nil},
		"Enter runs the one":   {"/re\x1b[B\r", terminal.Submitted, "/rescue", nil},
		"Enter takes a word":   {"/mo\r", terminal.Edited, "/model ", []string{"> /model", "  qwen", "  llama"}},
		"Enter runs a whole":   {"/model\r", terminal.Submitted, "/model", nil},
		"nothing chosen":       {"/model \r", terminal.Submitted, "/model ", nil},
		"something else":       {"/model lla\r", terminal.Submitted, "/model lla", nil},
		"the second level":     {"/model \x1b[B\x1b[B\r", terminal.Submitted, "/model llama", nil},
		"the second by Tab":    {"/mo\tl\t", terminal.Edited, "/model llama", []string{"> /model llama"}},
		"Escape keeps":         {"/re\x1b[27u", terminal.Edited, "/re", []string{"> /re"}},
		"closed for the word":  {"/re\x1b[27us", terminal.Edited, "/res", []string{"> /res"}},
		"open at the next":     {"/re\x1b[27u\x15/h", terminal.Edited, "/h", []string{"> /h", "› /help  lists all"}},
		"no word":              {"a /he", terminal.Edited, "a /he", []string{"> a /he"}},
		"a word within":        {"see @", terminal.Edited, "see @", []string{"> see @", "› @file00", "  @file01", "  @file02", "  @file03", "  @file04", "  @file05", "  @file06", "  … 5 more"}},
		"further down": {"@" + strings.Repeat("\x1b[B", 8), terminal.Edited, "@", []string{
			"> @", "  @file02", "  @file03", "  @file04", "  @file05", "  @file06", "  @file07", "› @file08", "  … 5 more",
		}},
		"taken within":     {"see @11\t", terminal.Edited, "see @file11 ", []string{"> see @file11"}},
		"before a space":   {"see  too\x1b[D\x1b[D\x1b[D\x1b[D@11\t", terminal.Edited, "see @file11 too", nil},
		"history is none":  {"\x1b[A", terminal.Edited, "/resume 7", []string{"> /resume 7"}},
		"gone when erased": {"/h\x7f\x7f", terminal.Edited, "", []string{">"}},
		"gone by moving":   {"/h\x1b[D", terminal.Edited, "/h", []string{"> /h"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			past, err := terminal.OpenHistory("")
			if err == nil {
				err = past.Add("/resume 7")
			}
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			e := terminal.NewEditor(&out, func() (int, int) { return 26, 40 }, past, commands)
			e.SetPrompt("> ")
			event := terminal.Edited
			for _, key := range keysOf(t, test.typed, 1) {
				event = e.Key(key)
				if err := e.Paint(); err != nil {
					t.Fatal(err)
				}
			}
			if event != test.event || e.Text() != test.text {
				t.Errorf("event %d, %q", event, e.Text())
			}
			if diff := cmp.Diff(test.screen, trimmed(play(out.String()))); test.screen != nil && diff != "" {
				t.Errorf("the screen (-want +got)\n%s", diff)
			}
			if err := e.Leave(); err != nil {
				t.Fatal(err)
			}
			if left := trimmed(play(out.String())); len(left) != 2 || left[1] != "" {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// trimmed returns lines without the spaces at their ends.
func trimmed(lines []string) []string {
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// What a server has not answered yet comes later, and Tab waits for it.
func TestEditor_MenuComesLater(t *testing.T) {
	var all []terminal.Proposal
	e := terminal.NewEditor(io.Discard, size, nil, func(string) terminal.Proposals {
		return terminal.Proposals{All: all, Pending: all == nil}
	})
	for _, k := range keysOf(t, "@m\t", 10) {
		e.Key(k)
	}
	if e.MenuOpen() || e.Text() != "@m" {
		t.Fatalf("%q, open %v", e.Text(), e.MenuOpen())
	}
	all = []terminal.Proposal{{Text: "@memory:"}}
	e.Key(terminal.Key{Code: terminal.KeyNone})
	if e.Text() != "@memory:" {
		t.Errorf("%q", e.Text())
	}

	e.SetText("")
	all = []terminal.Proposal{{Text: "@b"}, {Text: "@c"}}
	for _, k := range keysOf(t, "@\x1b[B", 10) {
		e.Key(k)
	}
	all = append([]terminal.Proposal{{Text: "@a"}}, all...)
	e.Key(terminal.Key{Code: terminal.KeyNone})
	e.Key(terminal.Key{Code: terminal.KeyTab})
	if e.Text() != "@c" {
		t.Errorf("what came later moved the selection: %q", e.Text())
	}
}

// Text that is written above the prompt continues where it ended, whatever is typed meanwhile, and a
// menu that opens and closes leaves nothing in it.
func TestEditor_Write(t *testing.T) {
	var out strings.Builder
	e := terminal.NewEditor(&out, func() (int, int) { return 40, 20 }, nil, commands)
	e.SetPrompt("> ")
	e.SetBusy(true)
	md := terminal.NewMarkdown(e, e.Room)
	typed := keysOf(t, "/re\x1b[B\x7f\x7fhe", 1)
	for i, piece := range []string{"Đánh ", "răng 漢字 ", "**hai", "** lần", ".\n\n", "- one\n", "- t", "wo\n", "- three"} {
		err := e.Together(func() error {
			if err := md.Write(piece); err != nil {
				return err
			}
			if i < len(typed) {
				e.Key(typed[i])
			}
			return e.Paint()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"Đánh răng 漢字 hai lần.", "", "• one", "• two", "• three", "> /he", "› /help  lists all"}
	if diff := cmp.Diff(want, trimmed(play(out.String()))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e.SetStatus("  3 s, waiting")
	if err := e.Paint(); err != nil {
		t.Fatal(err)
	}
	if got := trimmed(play(out.String())); got[5] != "  3 s, waiting" || got[6] != "> /he" {
		t.Errorf("%q", got)
	}
	e.SetStatus("")
	e.Take()
	if err := e.Paint(); err != nil {
		t.Fatal(err)
	}
	if err := md.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want[:5:5], ""), trimmed(play(out.String()))); diff != "" {
		t.Errorf("at the end (-want +got)\n%s", diff)
	}
}

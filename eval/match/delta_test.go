package match_test

import (
	"strings"
	"testing"

	"molar/eval/match"
)

// render writes pieces as [-was-]{+now+}.
func render(pieces []match.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		switch p.Kind {
		case match.Was:
			b.WriteString("[-" + p.Text + "-]")
		case match.Now:
			b.WriteString("{+" + p.Text + "+}")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ was, now, want string }{
		{"", "", ""},
		{"same", "same", "same"},
		{"answer briefly, please", "answer at length, please", "answer [-briefly-]{+at length+}, please"},
		{"one two cat dog six", "one 2 cat dog 6", "one [-two-]{+2+} cat dog [-six-]{+6+}"},
		{"a=1, b=2", "a=3, b=4", "a=[-1, b=2-]{+3, b=4+}"},
		{"gone soon", "", "[-gone soon-]"},
		{"Trần Văn", "Trần Vân", "Trần [-Văn-]{+Vân+}"},
	} {
		if got := render(match.Words(test.was, test.now)); got != test.want {
			t.Errorf("%q, %q: %s, want %s", test.was, test.now, got, test.want)
		}
	}
}

// TestExcerpt: both sides are cut at the same places, and contain all differences.
func TestExcerpt(t *testing.T) {
	long := strings.Repeat("lorem ipsum ", 40)
	was, now := match.Excerpt(match.Words(long+"first "+long+"second "+long, long+"1st "+long+"2nd "+long))
	if got := render(match.Words(was, now)); strings.Count(got, "[-") != 2 || !strings.Contains(got, "[-first-]{+1st+}") || !strings.Contains(got, "[-second-]{+2nd+}") {
		t.Errorf("marks: %s", got)
	}
	if len(was) > 400 {
		t.Errorf("%d bytes: %s", len(was), was)
	}
}

// TestChanges: equal changes have equal forms, wherever they occur.
func TestChanges(t *testing.T) {
	a := match.Changes(match.Words("You answer briefly.", "You answer at length."))
	b := match.Changes(match.Words("Much before. Answer briefly. More.", "Much before. Answer at length. More."))
	if a != b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
	if c := match.Changes(match.Words("You answer briefly.", "You answer never.")); c == a {
		t.Error("another change has the same form")
	}
}

// TestWords_long: the table has a maximum size even if the texts share nothing.
func TestWords_long(t *testing.T) {
	if got := match.Words(strings.Repeat("a ", 20000), strings.Repeat("b ", 20000)); len(got) == 0 {
		t.Error("nothing differs")
	}
}

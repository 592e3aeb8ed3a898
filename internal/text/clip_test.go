package text_test

import (
	"testing"

	"molar/internal/text"
)

func TestTruncate(t *testing.T) {
	for _, tc := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"đau", 3, "đau"},
		{"abcd", 3, "ab…"},
		{"răng sâu", 4, "răn…"},
	} {
		if got := text.Truncate(tc.in, tc.limit); got != tc.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tc.in, tc.limit, got, tc.want)
		}
	}
}

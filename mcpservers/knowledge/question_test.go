package knowledge

import "testing"

func TestOneSlip(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"denture", "denure", true},
		{"denture", "dennture", true},
		{"denture", "dentire", true},
		{"denture", "detnure", true},
		{"denture", "denture", true},
		{"denture", "denrute", false},
		{"denture", "dent", false},
		{"denture", "dantire", false},
		{"ab", "ba", true},
		{"a", "", true},
		{"", "", true},
	} {
		if got := oneSlip(tc.a, tc.b); got != tc.want {
			t.Errorf("oneSlip(%q, %q) = %v", tc.a, tc.b, got)
		}
		if got := oneSlip(tc.b, tc.a); got != tc.want {
			t.Errorf("oneSlip(%q, %q) = %v", tc.b, tc.a, got)
		}
	}
}

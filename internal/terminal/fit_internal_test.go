package terminal

import "testing"

func TestFit(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"short\n":                            "short\n",
		"  2  two spaces stay, here\n":       "  2  two spaces \n  stay, here\n",
		"\n  one more word here, please: ":   "\n  one more word \n  here, please: ",
		"the last words stand apart\n\nend ": "the last words \nstand apart\n\nend ",
		"https://example.com/a-long-address": "https://example.com/a-long-address",
	} {
		if got := fit(text, 17); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package text_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/text"
)

func TestSentences(t *testing.T) {
	for in, want := range map[string][]string{
		"":                                    nil,
		"One. Two! Three?":                    {"One. ", "Two! ", "Three?"},
		"**One.** \"Two.\" Three":             {"**One.** ", "\"Two.\" ", "Three"},
		"1. One.\n2. Two\n\nThree":            {"1. One.\n", "2. Two\n", "Three"},
		"It weighs 3.5 g in 2024. Then 4.":    {"It weighs 3.5 g in 2024. ", "Then 4."},
		"See https://a.example/b.c?d=e. Next": {"See https://a.example/b.c?d=e. ", "Next"},
		"第一句。第二句":                             {"第一句。", "第二句"},
	} {
		if diff := cmp.Diff(want, text.Sentences(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

package answer_test

import (
	"strings"
	"testing"

	"molar/agent/answer"
)

// numbersIn finds the words of a text that begin with a digit.
func numbersIn(text string) (all []string) {
	for word := range strings.FieldsSeq(text) {
		if word = strings.Trim(word, `.!?"`); word != "" && word[0] >= '0' && word[0] <= '9' {
			all = append(all, word)
		}
	}
	return all
}

func freeOfNumbers(sentence string) int {
	if at := strings.IndexAny(sentence, "0123456789"); at >= 0 {
		return at
	}
	return len(sentence)
}

func newSourced(texts ...string) *answer.Sourced {
	sources := answer.NewSources(numbersIn)
	sources.Add(texts...)
	return answer.NewSourced(sources, freeOfNumbers)
}

// A sentence with a number that no source says is left out, whatever the pieces are.
func TestSourced(t *testing.T) {
	for in, want := range map[string]struct{ streamed, whole string }{
		"Brush well. Wait 2 days.":             {"Brush well. Wait 2 days.", "Brush well. Wait 2 days."},
		"Brush well. Wait 7 days. Rinse.":      {"Brush well. Wait […] Rinse.", "Brush well. […] Rinse."},
		"Wait 7 days.\n\nWait 8 days.\nRinse.": {"Wait […]\n\nWait […]\nRinse.", "[…]\n\nRinse."},
		"7 days. 8 days. Rinse.":               {"[…] Rinse.", "[…] Rinse."},
		"Wait 2 or 7 days":                     {"Wait […]", "Wait […]"},
		"Wait a7 days. Rinse.":                 {"Wait a7 days. Rinse.", "Wait a7 days. Rinse."},
		"":                                     {},
	} {
		for _, size := range []int{1, 4, 100} {
			f := newSourced("It takes 2 days.", "")
			got := ""
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				got += f.Pass(rest[:n])
				rest = rest[n:]
			}
			got += f.Rest()
			if size == 100 && got != want.whole || size < 100 && got != want.streamed {
				t.Errorf("%q in pieces of %d becomes %q", in, size, got)
			}
			if left := f.LeftOut() > 0; left != (in != want.whole) {
				t.Errorf("%q: left out %d", in, f.LeftOut())
			}
		}
	}
	var none *answer.Sourced
	if none.Pass("7")+none.Rest() != "7" || none.JSON(`"7"`) != `"7"` || none.LeftOut() != 0 {
		t.Error("a nil filter changes text")
	}
}

// Only the rest of a sentence behind its first number is held back.
func TestSourced_held(t *testing.T) {
	f := newSourced("2")
	for _, tt := range []struct{ piece, shown string }{{"Wait ", "Wait "}, {"2 ", ""}, {"days.", ""}, {" Then ", "2 days. Then "}} {
		if got := f.Pass(tt.piece); got != tt.shown {
			t.Errorf("%q passes as %q", tt.piece, got)
		}
	}
}

// In a JSON answer the strings are filtered, and a value without anything to leave out stays as written.
func TestSourced_JSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"b": "Wait 2 days.", "a": 7}`:               `{"b": "Wait 2 days.", "a": 7}`,
		`{"b": ["Wait 7 days. <Rinse>."], "a": 1.50}`: `{"a":1.50,"b":["[…] <Rinse>."]}`,
		`no JSON 7`: `no JSON 7`,
	} {
		if got := newSourced("2").JSON(in); got != want {
			t.Errorf("%s becomes %s", in, got)
		}
	}
}

// Sources that are added later count.
func TestSources_Add(t *testing.T) {
	sources := answer.NewSources(numbersIn)
	f := answer.NewSourced(sources, freeOfNumbers)
	if got := f.Pass("Wait 7 days. "); got != "[…] " && got != "Wait […] " {
		t.Errorf("%q", got)
	}
	sources.Add("7")
	if got := f.Pass("Wait 7 days. "); got != "Wait 7 days. " {
		t.Errorf("%q", got)
	}
}

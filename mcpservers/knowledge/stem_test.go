package knowledge

import (
	"strings"
	"testing"
)

// Words of one family have one stem, and words that only look alike do not.
func TestStem(t *testing.T) {
	for _, family := range []string{
		"branch branches", "holiday holidays", "movie movies", "category categories", "setting settings", "expense expenses",
		"configure configures configured configuration configurations", "colour color colours", "organise organize organisation organization",
		"notify notifies notification notifications", "connect connected connection", "install installer installs", "manage manager managed management",
	} {
		words := strings.Fields(family)
		for _, w := range words[1:] {
			if got, want := stem(w), stem(words[0]); got != want {
				t.Errorf("%s has the stem %q, %s %q", w, got, words[0], want)
			}
		}
	}
	for _, pair := range []string{"number numb", "news new", "station state", "process proceed", "water wat", "paper pap", "order ord"} {
		a, b, _ := strings.Cut(pair, " ")
		v := newVocabulary(nil, nil)
		if v.fold(a) == v.fold(b) {
			t.Errorf("%s and %s have the same stem %q", a, b, v.fold(a))
		}
	}
}

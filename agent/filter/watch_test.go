package filter_test

import (
	"errors"
	"strings"
	"testing"

	"molar/agent/filter"
)

// lookFor takes a text for another subject by a word in it: "stocks" surely, "money" perhaps.
func lookFor(text string) filter.Look {
	switch {
	case strings.Contains(text, "stocks"):
		return filter.Look{Score: -5, Strayed: true, Sure: true}
	case strings.Contains(text, "money"):
		return filter.Look{Score: -2, Strayed: true}
	}
	return filter.Look{Score: 1}
}

var errLeft, errBegun = errors.New("left"), errors.New("left, once begun")

func watching() *filter.Watch {
	return filter.NewWatch(lookFor, func(_ float64, begun bool) error {
		if begun {
			return errBegun
		}
		return errLeft
	})
}

// A watch holds back as much as it needs to tell; later blocks are shown as they arrive, and
// end the answer when they stray.
func TestWatch(t *testing.T) {
	long := strings.Repeat("Brush. ", 40)
	money, stocks := strings.Repeat("It is money. ", 20), strings.Repeat("Buy stocks. ", 20)
	tests := []struct {
		name   string
		doubt  bool
		pieces []string
		shown  string // what was shown
		want   error
	}{
		{"a whole answer", false, []string{"Brush. ", long, "Rinse."}, "Brush. " + long + "Rinse.", nil},
		{"a first block that strays", false, []string{stocks}, "", errLeft},
		{"a short answer that strays", false, []string{"Buy stocks."}, "", errLeft},
		{"a short answer that may", false, []string{"It is money."}, "", errLeft},
		{"a first block that may stray", false, []string{money, long}, money + long, nil},
		{"the same, in doubt", true, []string{money, long}, "", errLeft},
		{"a later block that strays", false, []string{long, stocks[:100], stocks, "more"}, long + stocks[:100], errBegun},
		{"one block that may", false, []string{long, money, long}, long + money + long, nil},
		{"two of them", false, []string{long, money, money, "more"}, long + money, errBegun},
		{"a clear beginning", false, []string{"Brush with paste, then rinse and ", "spit. ", "Buy stocks."}, "Brush with paste, then rinse and ", errBegun},
		{"a clear beginning, in doubt", true, []string{"Brush with paste, then rinse and ", "spit. ", "Buy stocks."}, "", errLeft},
		{"a clear end behind what is unclear", false, []string{"It is money. ", "Brush with paste, then rinse and spit. "}, "", errLeft},
		{"an end that strays", false, []string{long, "Buy stocks."}, long + "Buy stocks.", errBegun},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := watching()
			if tt.doubt {
				w.Doubt()
			}
			shown, err := "", error(nil)
			for _, piece := range tt.pieces {
				var text string
				if text, _, err = w.Pass(piece); err != nil {
					break
				}
				shown += text
			}
			if err == nil {
				var text string
				text, err = w.Rest()
				shown += text
			}
			if shown != tt.shown || !errors.Is(err, tt.want) {
				t.Errorf("shown %q, %v", shown, err)
			}
		})
	}
	var none *filter.Watch
	if text, settled, err := none.Pass("stocks"); text != "stocks" || !settled || err != nil {
		t.Errorf("without a watch: %q, %v", text, err)
	}
}

// The beginning is held until it is clear, and what is settled is said.
func TestWatch_settled(t *testing.T) {
	w := watching()
	if text, settled, err := w.Pass("Brush. "); text != "" || settled || err != nil {
		t.Errorf("the beginning passed: %q, %v", text, err)
	}
	if text, settled, err := w.Pass("Rinse after it. Spit it out"); text != "Brush. Rinse after it. Spit it " || settled || err != nil {
		t.Errorf("of a clear beginning %q passed, settled %v, %v", text, settled, err)
	}
	long := strings.Repeat("Brush. ", 30)
	for _, tt := range []struct {
		piece   string
		shown   string
		settled bool
	}{{long, "out" + long, true}, {"Then rinse", "Then rinse", false}, {long, long, true}} {
		if text, settled, err := w.Pass(tt.piece); text != tt.shown || settled != tt.settled || err != nil {
			t.Errorf("%q, settled %v, %v", text, settled, err)
		}
	}
}

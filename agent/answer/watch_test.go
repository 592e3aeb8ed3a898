package answer_test

import (
	"errors"
	"strings"
	"testing"

	"molar/agent/answer"
)

// lookFor finds a text off the subject by a word in it: surely for "stocks", perhaps for "money".
func lookFor(text, _ string) answer.Look {
	switch {
	case strings.Contains(text, "stocks"):
		return answer.Look{Score: -5, Strayed: true, Sure: true}
	case strings.Contains(text, "money"):
		return answer.Look{Score: -2, Strayed: true}
	}
	return answer.Look{Score: 1}
}

var errLeft = errors.New("left")

// watched is the result of the pieces of an answer under a watch.
type watched struct {
	shown string
	asked int
	err   error
}

// watch passes the pieces through a watch that arm has armed, with a judge that always returns
// says.
func watch(arm func(*answer.Watch), says error, pieces []string) (got watched) {
	w := answer.NewWatch(lookFor, func(string, float64) error { got.asked++; return says })
	if arm != nil {
		arm(w)
	}
	for _, piece := range pieces {
		sound, rest, err := w.Pass(piece)
		got.shown += sound + rest
		if got.err = err; err != nil {
			return got
		}
	}
	text, err := w.Rest()
	got.shown, got.err = got.shown+text, err
	return got
}

// The watch calls the judge in case of doubt. If the judge says no, the answer ends, and the
// buffered part of its first block is never shown; if the judge says yes, the whole answer is
// shown.
func TestWatch(t *testing.T) {
	long := strings.Repeat("Brush. ", 40)
	money, stocks := strings.Repeat("It is money. ", 20), strings.Repeat("Buy stocks. ", 20)
	tests := []struct {
		name   string
		arm    func(*answer.Watch)
		pieces []string
		asked  int    // if the judge says yes
		shown  string // if the judge says no
	}{
		{"a whole answer", (*answer.Watch).Arm, []string{"Brush. ", long, "Rinse."}, 0, "Brush. " + long + "Rinse."},
		{"a first block that strays", (*answer.Watch).Arm, []string{stocks}, 2, ""},
		{"a short answer that strays", (*answer.Watch).Arm, []string{"Buy stocks."}, 1, ""},
		{"a short answer that may", (*answer.Watch).Arm, []string{"It is money."}, 1, ""},
		{"a first block that may stray", (*answer.Watch).Arm, []string{money, long}, 2, ""},
		{"the same, in an emergency", (*answer.Watch).Urge, []string{money, money, long}, 0, money + money + long},
		{"an emergency that strays", (*answer.Watch).Urge, []string{stocks}, 2, ""},
		{"an emergency, and what was read", func(w *answer.Watch) { w.Urge(); w.Arm() }, []string{money}, 0, money},
		{"a later block that strays", (*answer.Watch).Arm, []string{long, stocks[:100], stocks[100:], "more"}, 3, long},
		{"a later block that may", (*answer.Watch).Arm, []string{long, money, long}, 3, long},
		{"two of them", (*answer.Watch).Arm, []string{long, money, money, "more"}, 4, long},
		{"a beginning that keeps to the subject", (*answer.Watch).Arm, []string{"Brush and ", "rinse. ", "Buy stocks."}, 1, "Brush and rinse. "},
		{"an end behind what is in doubt", (*answer.Watch).Arm, []string{"It is money. ", "Brush and rinse. "}, 1, ""},
		{"an end that strays", (*answer.Watch).Arm, []string{long, "Buy stocks."}, 1, long + "Buy stocks."},
		{"an end behind what was asked about", (*answer.Watch).Arm, []string{long, money, "Rinse."}, 3, long},
		{"nothing to doubt", nil, []string{stocks, stocks}, 0, stocks + stocks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := strings.Join(tt.pieces, "")
			if got := watch(tt.arm, nil, tt.pieces); got != (watched{all, tt.asked, nil}) {
				t.Errorf("with a yes: %+v", got)
			}
			want := watched{shown: tt.shown, asked: min(tt.asked, 1)}
			if tt.asked > 0 {
				want.err = errLeft
			}
			if got := watch(tt.arm, errLeft, tt.pieces); got != want {
				t.Errorf("with a no: %+v", got)
			}
		})
	}
	var none *answer.Watch
	none.Arm()
	if _, text, err := none.Pass("stocks"); text != "stocks" || err != nil {
		t.Errorf("without a watch: %q, %v", text, err)
	}
}

// Text is shown as it arrives. A doubtful beginning is buffered until the doubt is settled, and later
// sentences are sound once they have ended.
func TestWatch_sound(t *testing.T) {
	w := answer.NewWatch(lookFor, func(string, float64) error { return nil })
	w.Arm()
	long := strings.Repeat("Brush. ", 30)
	for _, tt := range []struct{ piece, sound, rest string }{
		{"Brush. ", "Brush. ", ""},
		{"Rinse after it. Spit it ou", "Rinse after it. Spit it ou", ""},
		{"t. It is money", "t. ", ""},
		{" well spent. ", "It is money well spent. ", ""},
		{"Then" + long, "Then" + long, ""},
		{"Rinse", "", "Rinse"},
		{" it. Buy", " it. ", "Buy"},
		{" stocks", "", " stocks"},
	} {
		if sound, rest, err := w.Pass(tt.piece); sound != tt.sound || rest != tt.rest || err != nil {
			t.Errorf("%q passed as %q and %q, %v", tt.piece, sound, rest, err)
		}
	}
}

// Once a text that was read may have led the answer away, no sentence is shown before the judge has read it, and
// the judge reads all of them, also those that code does not doubt.
func TestWatch_Mind(t *testing.T) {
	for _, tt := range []struct {
		name   string
		urgent bool
		says   error
		want   watched
	}{
		{"yes", false, nil, watched{"Brush. Rinse now. Then floss.", 2, nil}},
		{"no", false, errLeft, watched{"", 1, errLeft}},
		{"an emergency", true, errLeft, watched{"Brush. Rinse now. Then floss.", 0, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := watch(func(w *answer.Watch) {
				w.Mind(func() bool { return true })
				if w.Arm(); tt.urgent {
					w.Urge()
				}
			}, tt.says, []string{"Brush. Ri", "nse now. ", "Then ", "floss."})
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	led, read := false, ""
	w := answer.NewWatch(lookFor, func(part string, _ float64) error { read += part; return nil })
	w.Mind(func() bool { return led })
	w.Arm()
	for _, tt := range []struct {
		led         bool
		piece, want string
	}{
		{false, "Brush. Ri", "Brush. Ri"},
		{true, "nse", ""},
		{true, " now. ", "nse now. "}, // the first is asked about at once
		{true, "Then floss. ", ""},
		{true, "\n", ""},
	} {
		led = tt.led
		sound, rest, err := w.Pass(tt.piece)
		if sound+rest != tt.want || err != nil {
			t.Errorf("%q is shown as %q, %v", tt.piece, sound+rest, err)
		}
	}
	rest, err := w.Rest()
	if rest != "Then floss. \n" || err != nil || read != "Brush. Rinse now. Then floss. \n" {
		t.Errorf("the rest is %q, %v, the judge has read %q", rest, err, read)
	}
}

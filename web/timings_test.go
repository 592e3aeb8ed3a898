package web_test

import (
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"molar/agent/answer"
)

// Every event other than text has its time; text has none.
func TestChat_Timings(t *testing.T) {
	at := regexp.MustCompile(`"at_ms":(\d+)`)
	step := answer.Event{Kind: answer.KindStep, Step: "2.1", Text: "passed"}
	for _, tt := range []struct {
		body  string
		notes int
	}{
		{`"stream":true,"molar":{"events":true}`, 4},
		{`"stream":true,"molar":{"events":true,"detach":true}`, 4},
		{`"molar":{"events":true}`, 3}, // a whole answer has no steps
		{`"stream":true`, 0},
	} {
		cfg := config(t, play(nil, start(), step, toolCall(), toolResult(), text("a"), text("b"), done()))
		var asked atomic.Int64
		cfg.Now = func() time.Time { return created.Add(time.Duration(asked.Add(1)) * 10 * time.Millisecond) }
		w := post(build(t, cfg), `{`+tt.body+`,`+question+`}`)
		found := at.FindAllStringSubmatch(w.Body.String(), -1)
		if w.Code != 200 || len(found) != tt.notes {
			t.Errorf("%s: %d notes with a time, want %d: %s", tt.body, len(found), tt.notes, w.Body)
		}
		seen := map[int]bool{}
		for _, f := range found {
			n, err := strconv.Atoi(f[1])
			if err != nil || n <= 0 || n > 1000 || seen[n] {
				t.Errorf("%s: at_ms %s: %s", tt.body, f[1], w.Body)
			}
			seen[n] = true
		}
		if strings.Contains(w.Body.String(), `"at_ms":0`) {
			t.Errorf("%s: a time that is not known is told: %s", tt.body, w.Body)
		}
	}
}

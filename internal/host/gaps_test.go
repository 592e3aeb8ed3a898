package host_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"molar/internal/host"
	"molar/schemas"
)

// Questions are grouped by their words: endings, order and words without meaning do not matter, and
// neither do a few more words. Other words for the same thing, and another language, make another group.
func TestGapsOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		questions []string
		want      string
	}{
		{[]string{"Where can I park?", "Parking nearby?"}, "2 park nearby"},
		{[]string{"Is there a parking lot?", "Where can I park?"}, "2 parking"},
		{[]string{"Tôi có thể đỗ xe ở đâu?", "Chỗ đỗ xe gần đây?"}, "2 xe đỗ gần thể"},
		{[]string{"Where can I park?", "Where may I leave my car?"}, "1 park, 1 car leave"},
		{[]string{"Đỗ xe ở đâu?", "Đậu xe ở đâu?"}, "1 xe đỗ, 1 xe đậu"},
		{[]string{"Where can I park?", "Đỗ xe ở đâu?"}, "1 park, 1 xe đỗ"},
		{[]string{"Where can I park?", "Where is the bike park of the north gate?"}, "1 park, 1 bike gate north park"},
		{[]string{"Mấy giờ mở cửa?", "may gio mo cua"}, "2 cửa mở gio"},
		{[]string{"", ""}, "2 "},
	} {
		var turns []schemas.ListedTurn
		for i, q := range tt.questions {
			turn := schemas.ListedTurn{ID: fmt.Sprint(i), Assistant: "help"}
			if q != "" {
				turn.Question = &q
			}
			turns = append(turns, turn)
		}
		var got []string
		for _, g := range host.GapsOf(turns, time.Time{}) {
			got = append(got, fmt.Sprint(g.Count, " ", strings.Join(g.Words, " ")))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%q: %q, want %q", tt.questions, text, tt.want)
		}
	}
}

// Questions up to a written answer to one of their group do not count, also if that one is older than what is
// listed. A refused turn, whose question nobody knows, is settled alone.
func TestGapsOf_Corrected(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 11, 2, hour, 0, 0, 0, time.UTC) }
	turn := func(hour int, question, reason string, corrected int) schemas.ListedTurn {
		listed := schemas.ListedTurn{ID: fmt.Sprint(hour), Assistant: "help", Reason: reason, At: at(hour)}
		if question != "" {
			listed.Question = &question
		}
		if corrected > 0 {
			listed.Corrected = at(corrected)
		}
		return listed
	}
	for name, tt := range map[string]struct {
		turns []schemas.ListedTurn
		since int
		want  string
	}{
		"none is written":     {[]schemas.ListedTurn{turn(3, "Where can I park?", "", 0), turn(1, "Parking nearby?", "", 0)}, 0, "2 park nearby: 3 1"},
		"of the older one":    {[]schemas.ListedTurn{turn(3, "Where can I park?", "", 0), turn(1, "Parking nearby?", "", 4)}, 0, ""},
		"asked again":         {[]schemas.ListedTurn{turn(5, "Where can I park?", "", 0), turn(3, "Where can I park?", "", 0), turn(1, "Parking nearby?", "", 4)}, 0, "1 park: 5"},
		"written again":       {[]schemas.ListedTurn{turn(5, "Where can I park?", "", 6), turn(1, "Parking nearby?", "", 4)}, 0, ""},
		"of another question": {[]schemas.ListedTurn{turn(3, "Where can I park?", "", 0), turn(1, "Who waters the plants?", "", 4)}, 0, "1 park: 3"},
		"not listed":          {[]schemas.ListedTurn{turn(5, "Where can I park?", "", 0), turn(3, "Where can I park?", "", 0), turn(1, "Parking nearby?", "", 4)}, 2, "1 park: 5"},
		"since":               {[]schemas.ListedTurn{turn(3, "Where can I park?", "", 0), turn(1, "Parking nearby?", "", 0)}, 2, "1 park: 3"},
		"refused":             {[]schemas.ListedTurn{turn(3, "", "off topic", 0), turn(1, "", "off topic", 4)}, 0, "1 : "},
	} {
		var got []string
		for _, g := range host.GapsOf(tt.turns, at(tt.since)) {
			var examples []string
			for _, e := range g.Examples {
				examples = append(examples, e.Turn)
			}
			got = append(got, fmt.Sprint(g.Count, " ", strings.Join(g.Words, " "), ": ", strings.Join(examples, " ")))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %q, want %q", name, text, tt.want)
		}
	}
}

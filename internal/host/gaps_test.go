package host_test

import (
	"fmt"
	"strings"
	"testing"

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
		for _, g := range host.GapsOf(turns) {
			got = append(got, fmt.Sprint(g.Count, " ", strings.Join(g.Words, " ")))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%q: %q, want %q", tt.questions, text, tt.want)
		}
	}
}

package knowledge

import (
	"slices"
	"testing"
)

func TestMerged(t *testing.T) {
	for _, tt := range []struct {
		what     string
		rankings []ranking[int]
		pinned   []int
		want     ranking[int]
	}{
		{what: "nothing"},
		{what: "one alone stays as it is", rankings: []ranking[int]{{3, 1, 2}}, want: ranking[int]{3, 1, 2}},
		{what: "an empty one changes nothing", rankings: []ranking[int]{{}, {3, 1}}, want: ranking[int]{3, 1}},
		{what: "what two agree on comes first", rankings: []ranking[int]{{1, 2, 3}, {4, 3, 5}}, want: ranking[int]{3, 1, 4, 2, 5}},
		{what: "the first wins a tie", rankings: []ranking[int]{{1}, {2}}, want: ranking[int]{1, 2}},
		{what: "a pinned passage keeps its place", rankings: []ranking[int]{{1, 2, 3}, {2, 3, 4}}, pinned: []int{1}, want: ranking[int]{1, 2, 3, 4}},
		{what: "all pinned are the first ranking", rankings: []ranking[int]{{1, 2, 3}, {3, 4, 2, 1}}, pinned: []int{1, 2, 3}, want: ranking[int]{1, 2, 3, 4}},
		{what: "a pinned passage may come earlier", rankings: []ranking[int]{{1, 2}, {2}}, pinned: []int{2}, want: ranking[int]{2, 1}},
		{what: "only the first ranking pins", rankings: []ranking[int]{{1, 2}, {3}}, pinned: []int{3}, want: ranking[int]{1, 3, 2}},
	} {
		pinned := func(p int) bool { return slices.Contains(tt.pinned, p) }
		if got := merged(tt.rankings, pinned); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.what, got, tt.want)
		}
	}
}

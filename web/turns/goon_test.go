package turns

import (
	"strings"
	"testing"

	"molar/agent/answer"
)

// A follower that comes after a continuation sees nothing of what it reset; one that has seen a part
// of it sees the rest, and the reset. Ids after it are larger, and an id of before counts only as far as
// its process had recorded items.
func TestLive_FollowAcrossAReset(t *testing.T) {
	turn := &Live{Log: NewLog(sizeOf), cancel: func(error) {}}
	for _, ev := range []answer.Event{
		{Kind: answer.KindStart, Start: &answer.Start{}}, {Kind: answer.KindText, Text: "on"}, {Kind: answer.KindText, Text: "e"},
		{Kind: answer.KindReset, Text: "one"}, {Kind: answer.KindText, Text: "\n\ntwo"},
	} {
		turn.add(Item{Event: ev})
	}
	turn.Log.End()
	const again = 1 << attemptBits
	for after, want := range map[int]string{
		0:         "start: reset: text:\n\ntwo",
		2:         "text:e reset:one text:\n\ntwo",
		3:         "reset:one text:\n\ntwo",
		9:         "reset:one text:\n\ntwo", // the process that is gone had shown more than it recorded
		again + 4: "text:\n\ntwo",
	} {
		f := turn.Follow(t.Context(), turn.NumberOf(after))
		var got []string
		last := 0
		f.Run(func(it Item) bool {
			got, last = append(got, string(it.Event.Kind)+":"+it.Event.Text), it.Number
			return true
		})
		f.End()
		if s := strings.Join(got, " "); s != want || last != again+5 {
			t.Errorf("after %d: %q, last id %d", after, s, last)
		}
	}
}

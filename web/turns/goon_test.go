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
		{Kind: answer.KindStart, Start: &answer.Start{}},
		{Kind: answer.KindText, Text: "on"},
		{Kind: answer.KindText, Text: "e"},
		{Kind: answer.KindReset, Text: "one"},
		{Kind: answer.KindText, Text: "\n\ntwo"},
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
		f := turn.Follow(t.Context(), after)
		var got []string
		last := 0
		for it := range f.Items() {
			got, last = append(got, string(it.Event.Kind)+":"+it.Event.Text), it.Number
		}
		f.End()
		if s := strings.Join(got, " "); s != want || last != again+5 {
			t.Errorf("after %d: %q, last id %d", after, s, last)
		}
	}
}

// A follower that has more than is here yet does not get it twice; what a continuation says under the
// same numbers it gets.
func TestLive_FollowAhead(t *testing.T) {
	for name, c := range map[string]struct {
		reset bool
		want  string
	}{"the process lives": {false, "text:c"}, "it was lost": {true, "reset:a text:b text:c"}} {
		turn := &Live{Log: NewLog(sizeOf), cancel: func(error) {}}
		turn.add(Item{Event: answer.Event{Kind: answer.KindText, Text: "a"}})
		f := turn.Follow(t.Context(), 3) // it has two items more
		if c.reset {
			turn.add(Item{Event: answer.Event{Kind: answer.KindReset, Text: "a"}})
		} else {
			turn.add(Item{Event: answer.Event{Kind: answer.KindText, Text: "x"}})
		}
		for _, text := range []string{"b", "c"} {
			turn.add(Item{Event: answer.Event{Kind: answer.KindText, Text: text}})
		}
		turn.Log.End()
		var got []string
		for it := range f.Items() {
			got = append(got, string(it.Event.Kind)+":"+it.Event.Text)
		}
		f.End()
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

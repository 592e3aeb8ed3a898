package turns

import (
	"time"

	"molar/agent/answer"
)

// An Item is an event of a turn, or the error that ended it.
type Item struct {
	Event answer.Event
	Err   error
	// Number is the id of the item of a logged turn: they count from 1, and are larger in each
	// continuation.
	Number int
	// At is the time of the event since the beginning of the turn; zero for text, and for items
	// read from a store.
	At time.Duration
}

// sizeOf returns the approximate memory of an item.
func sizeOf(it Item) int {
	const fixed = 256
	n := fixed + len(it.Event.Text)
	if it.Event.Result != nil {
		n += len(it.Event.Result.Output)
		for _, file := range it.Event.Result.Media {
			n += len(file.Text)
		}
	}
	if it.Event.Call != nil {
		n += len(it.Event.Call.Function.Arguments)
	}
	if it.Event.Asked != nil {
		n += len(it.Event.Asked.Message) + len(it.Event.Asked.Schema)
	}
	if it.Event.News != nil {
		n += len(it.Event.News.Text)
	}
	if it.Event.Approval != nil {
		n += len(it.Event.Approval.Arguments)
	}
	return n
}

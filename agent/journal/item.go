package journal

import (
	"encoding/json"
	"errors"
	"time"

	"molar/agent/answer"
	"molar/schemas"
)

// An Item is an event of a turn, or the failure that ended it. Most are pieces of text: these have Text
// alone, as a turn may hold thousands.
type Item struct {
	Text string
	// Event is nil for a piece of text and for a failure.
	Event *answer.Event
	// At is the time of the event since the beginning of the turn; zero for text.
	At time.Duration
	// Failure is why the turn failed, as JSON that only its caller reads.
	Failure json.RawMessage
}

// itemOf returns the item of an event.
func itemOf(ev answer.Event, at time.Duration) Item {
	if ev.Kind == answer.KindText && at == 0 && !ev.Unsaved && !ev.Refusal {
		return Item{Text: ev.Text}
	}
	kept := ev // so that a piece of text is not allocated as an event
	return Item{Event: &kept, At: at}
}

// Read returns the event of an item; of a failure, one without a kind.
func (it Item) Read() answer.Event {
	switch {
	case it.Event != nil:
		return *it.Event
	case it.Failure != nil:
		return answer.Event{}
	}
	return answer.Event{Kind: answer.KindText, Text: it.Text}
}

// rowSize is the approximate maximum of a row, in bytes.
const rowSize = 64 << 10

// An entry is an item in a row. An item with text alone is written as a string instead.
type entry struct {
	Event   *answer.Event   `json:"event,omitempty"`
	At      time.Duration   `json:"at,omitempty"`
	Failure json.RawMessage `json:"error,omitempty"`
}

// Encode returns items as rows; first is the number of the first one.
func Encode(items []Item, first int) ([]schemas.JournalRow, error) {
	var rows []schemas.JournalRow
	begin, body := first, []byte(nil)
	for i, it := range items {
		b, err := encode(it)
		if err != nil {
			return nil, err
		}
		body = append(append(body, ','), b...)
		if n := first + i; len(body) >= rowSize || i == len(items)-1 {
			body[0] = '['
			rows = append(rows, schemas.JournalRow{First: begin, Last: n, Body: string(append(body, ']'))})
			begin, body = n+1, nil
		}
	}
	return rows, nil
}

func encode(it Item) ([]byte, error) {
	if it.Failure != nil {
		return json.Marshal(entry{At: it.At, Failure: it.Failure})
	}
	if it.Event == nil {
		return json.Marshal(it.Text)
	}
	return json.Marshal(entry{Event: it.Event, At: it.At})
}

// Decode returns the items of a row.
func Decode(r schemas.JournalRow) ([]Item, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(r.Body), &raw); err != nil {
		return nil, err
	}
	items := make([]Item, len(raw))
	for i, b := range raw {
		if b[0] == '"' {
			if err := json.Unmarshal(b, &items[i].Text); err != nil {
				return nil, err
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		items[i] = Item{Event: e.Event, At: e.At, Failure: e.Failure}
		if e.Event == nil && e.Failure == nil {
			return nil, errors.New("an item of a turn that is neither event nor failure")
		}
	}
	return items, nil
}

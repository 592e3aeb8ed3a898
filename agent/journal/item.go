package journal

import (
	"encoding/json"
	"errors"
	"time"

	"molar/agent/answer"
	"molar/schemas"
)

// An Item is an event of a turn, or the failure that ended it.
type Item struct {
	Event answer.Event
	// At is the time of the event since the beginning of the turn; zero for text.
	At time.Duration
	// Failure is why the turn failed, as JSON that only its caller reads.
	Failure json.RawMessage
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
	if it.Event.Kind == answer.KindText && it.At == 0 && !it.Event.Unsaved {
		return json.Marshal(it.Event.Text)
	}
	return json.Marshal(entry{Event: &it.Event, At: it.At})
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
			items[i].Event.Kind = answer.KindText
			if err := json.Unmarshal(b, &items[i].Event.Text); err != nil {
				return nil, err
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		items[i].At, items[i].Failure = e.At, e.Failure
		switch {
		case e.Failure != nil:
		case e.Event != nil:
			items[i].Event = *e.Event
		default:
			return nil, errors.New("an item of a turn that is neither event nor failure")
		}
	}
	return items, nil
}
